#pragma once

#include <QFont>
#include <QHash>
#include <QPainter>
#include <QRect>
#include <QStaticText>
#include <QString>

namespace tferry::gui {

/// Writes single lines of text, left and in the middle of their height, elided where they are too long.
/// Laying text out takes longer than everything else in a frame, and the same names come again in the next:
/// what was laid out is kept, some thousands of lines of one font. Threads: one cache each.
class TextCache {
 public:
  /// One for plain and one for bold text.
  static TextCache& of_this_thread(bool bold = false);

  void draw(QPainter& painter, const QRect& box, const QString& text);
  /// Pixels of the whole text.
  int width(const QPainter& painter, const QString& text) {
    use_font_of(painter);
    return line(painter, text).width;
  }

 private:
  struct Line {
    QStaticText laid_out;
    int width = 0;  ///< pixels
  };
  void use_font_of(const QPainter& painter);
  const Line& line(const QPainter& painter, const QString& text);
  const Line& elided(const QPainter& painter, const QString& text, int width);

  QFont font_;
  QHash<QString, Line> lines_;
  QHash<QString, QHash<int, Line>> elided_;  ///< by width in steps of some pixels
  int kept_ = 0;
};

}  // namespace tferry::gui
