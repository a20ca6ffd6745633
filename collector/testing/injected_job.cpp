// A job for tests of the injected library: loads it as the driver does, lets the fake CUPTI record kernels,
// and ends in the way that it is told.
//
//   injected_job COLLECTOR COMMAND...    commands, in their order:
//     launch N | endless | wait (for a byte on stdin) | unload | fork | workers N | exec PROGRAM
//     exit | quick (_exit) | abort
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

template <typename Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

int fail(const char* what) {
  std::fprintf(stderr, "injected_job: %s\n", what);
  return 9;
}

/// As a loader of data does: children that never touch the GPU work while the parent launches, and end in
/// every way: by exit, by _exit, killed.
bool work_with(int count, void (*launch)(int)) {
  int work[2];
  if (pipe(work) != 0) return false;
  std::vector<pid_t> workers;
  for (int i = 0; i < count; ++i) {
    const pid_t worker = fork();
    if (worker == 0) {
      close(work[1]);
      char byte;
      if (read(work[0], &byte, 1) != 0) _exit(1);
      if (i % 3 == 0) std::exit(0);
      if (i % 3 == 1) _exit(0);
      for (;;) pause();
    }
    workers.push_back(worker);
  }
  launch(count);
  close(work[0]);
  close(work[1]);
  bool well = true;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    int status = 0;
    if (i % 3 == 2) kill(workers[i], SIGKILL);
    waitpid(workers[i], &status, 0);
    well = well && (i % 3 == 2 ? WIFSIGNALED(status) : status == 0);
  }
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fail("no collector");
  void* collector = dlopen(argv[1], RTLD_NOW);
  if (collector == nullptr) return fail(dlerror());
  const auto initialize = symbol<int (*)()>(collector, "InitializeInjection");
  void* cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (initialize == nullptr || cupti == nullptr) return fail("not the library that was expected");
  const auto launch = symbol<void (*)(int)>(cupti, "fake_cupti_launch");
  const auto endless = symbol<void (*)()>(cupti, "fake_cupti_launch_endless");
  if (launch == nullptr || endless == nullptr) return fail("not the fake CUPTI");
  if (initialize() != 1) return fail("InitializeInjection did not answer 1");

  for (int i = 2; i < argc; ++i) {
    const std::string command = argv[i];
    if (command == "launch") launch(std::atoi(argv[++i]));
    if (command == "endless") endless();
    if (command == "unload") dlclose(collector);
    if (command == "wait") {
      char byte;
      if (read(STDIN_FILENO, &byte, 1) < 0) return fail("no stdin");
    }
    if (command == "fork") {
      const pid_t child = fork();
      if (child == 0) {
        launch(1000);
        std::exit(0);  // runs the handlers that the parent registered
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) return fail("the child did not end well");
    }
    if (command == "workers" && !work_with(std::atoi(argv[++i]), launch))
      return fail("a worker did not end well");
    if (command == "exec") {
      execv(argv[i + 1], argv + i + 1);
      return fail("exec");
    }
    if (command == "exit") return 0;
    if (command == "quick") _exit(0);
    if (command == "abort") std::abort();
  }
  return 0;
}
