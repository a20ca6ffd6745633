#include "gui/window/key_help.hpp"

#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QVBoxLayout>

namespace tferry::gui {
namespace {

struct Key {
  const char* keys;
  const char* what;
};

constexpr Key kKeys[] = {
    {"W  S, wheel", "zoom in and out around the pointer"},
    {"A  D, ←  →", "move in time"},
    {"Shift + wheel, wheel over the titles", "move up and down"},
    {"drag", "measure"},
    {"Shift + drag, middle button", "move the timeline"},
    {"click, double click", "select an event; frame it"},
    {"F", "frame the selection or what is measured"},
    {"Home", "show everything"},
    {"[  ]", "previous, next of the same kind"},
    {"↑  ↓, Enter", "choose a lane or a head; select its next event from the middle on"},
    {"Space, Shift+Space", "fold or unfold the group; all GPUs"},
    {"Page up, Page down", "scroll"},
    {"J  K", "forwards to who waited or what became of it; back to what slowed or planned it"},
    {"M", "measure: from the selected event, or the middle, to the next M"},
    {"T", "filter the lanes of tensors by name"},
    {"X", "why a plan moves the tensor of a lane or row, or lets it stay"},
    {"P", "to the memory peak"},
    {"/", "search by regular expression; Enter: next match"},
    {"Ctrl+1 … Ctrl+9", "a report"},
    {"Ctrl+R", "reports about what is visible only"},
    {"Ctrl+C", "copy the rows of a report, or the selected event, as CSV"},
    {"Alt+↑  Alt+↓", "sort by the current column"},
    {"Ctrl+D", "to the selected event's facts"},
    {"Tab, Shift+Tab", "from part to part of the window"},
    {"Ctrl+.", "cancel what is being worked on"},
    {"Ctrl+O, Ctrl+Shift+O", "open a session; one below, to compare"},
    {"Ctrl+E", "export as PNG or SVG"},
    {"Esc", "drop selection and measurement; back to the timeline"},
    {"?", "this help"}};

}  // namespace

QString KeyHelp::text() {
  QString text = QStringLiteral("<table cellspacing='4'>");
  for (const Key& key : kKeys) {
    text += QStringLiteral("<tr><td><b>%1</b>&nbsp;&nbsp;&nbsp;</td><td>%2</td></tr>")
                .arg(QString::fromUtf8(key.keys), QString::fromUtf8(key.what));
  }
  return text + QStringLiteral("</table>");
}

void KeyHelp::show_over(QWidget* window) {
  auto* dialog = new QDialog(window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QStringLiteral("Keys"));
  dialog->setObjectName(QStringLiteral("keys"));
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(new QLabel(text()));
  layout->addWidget(buttons);
  dialog->open();
}

}  // namespace tferry::gui
