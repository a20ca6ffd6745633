#include "tests/software_driver/guard.hpp"

#include "tests/software_driver/pages.hpp"

#include <csetjmp>
#include <csignal>
#include <mutex>
#include <ucontext.h>

namespace tferry::software_driver {
namespace {

// Initial-exec, so that the handler never allocates them.
#define SWD_HANDLER_LOCAL thread_local __attribute__((tls_model("initial-exec")))
SWD_HANDLER_LOCAL sigjmp_buf* volatile landing = nullptr;
SWD_HANDLER_LOCAL volatile std::uintptr_t fault_address = 0;
#undef SWD_HANDLER_LOCAL
struct sigaction previous_segv;
struct sigaction previous_bus;

void pass_on(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // Returning repeats the access, now with the default action.
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
}

/// Of x86, whose page faults say so.
bool was_write(const void* context) {
  constexpr greg_t kWriteBit = 2;
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (signal == SIGSEGV &&
      resolve_page_fault(reinterpret_cast<std::uintptr_t>(info->si_addr), was_write(context)))
    return;
  if (sigjmp_buf* target = landing) {
    fault_address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    siglongjmp(*target, 1);
  }
  pass_on(signal == SIGBUS ? previous_bus : previous_segv, signal, info, context);
}

void install() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  // Not deferred, so that leaving by siglongjmp needs no signal mask to be restored.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace

std::optional<std::uintptr_t> run_guarded(const std::function<void()>& work) {
  static std::once_flag installed;
  std::call_once(installed, install);
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    landing = nullptr;
    return fault_address;
  }
  landing = &here;
  work();
  landing = nullptr;
  return std::nullopt;
}

}  // namespace tferry::software_driver
