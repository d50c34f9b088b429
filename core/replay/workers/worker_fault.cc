#include "core/replay/workers/worker_fault.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace hloscope::replay {
namespace {

// The numbers behind `text`, or `otherwise`.
int64_t NumberOf(std::string_view text, int64_t otherwise) {
  int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int SignalCalled(std::string_view name) {
  for (int number = 1; number < NSIG; ++number) {
    const char* known = sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return 0;
}

[[noreturn]] void Hang() {
  for (;;) pause();
}

// Each block is touched, so that it is really there.
[[noreturn]] void AllocateWithoutEnd() {
  constexpr size_t kBlock = size_t{4} << 20;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (;;) {
    blocks.push_back(std::make_unique<char[]>(kBlock));
    std::memset(blocks.back().get(), 1, kBlock);
    usleep(200);
  }
}

// Deeper and deeper, on purpose.
int Overflow(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Overflow(depth + 1) + frame[0];
}

void SendGarbage() {
  const std::string garbage(4096, '\x5a');
  if (write(kWorkerSocket, garbage.data(), garbage.size()) < 0) Hang();
  Hang();
}

void Commit(const std::string& what) {
  if (what == "hang") Hang();
  if (what == "allocate") AllocateWithoutEnd();
  if (what == "overflow") std::exit(Overflow(0));
  if (what == "garbage") SendGarbage();
  if (what == "close") {
    shutdown(kWorkerSocket, SHUT_RDWR);
    Hang();
  }
  if (what == "print") {
    std::puts("printed on standard output");
    std::fputs("printed on standard error\n", stderr);
    std::fflush(stdout);
    return;
  }
  if (what.starts_with("exit")) _exit(static_cast<int>(NumberOf(what.substr(4), 1)));
  std::fputs("committing a fault on purpose\n", stderr);
  const int number = SignalCalled(what);
  if (number == 0) return;
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

WorkerFault WorkerFault::FromEnvironment() {
  WorkerFault fault;
  const char* text = std::getenv("HLOSCOPE_WORKER_FAULT");
  if (text == nullptr) return fault;
  const std::string all = text;
  const size_t at = all.find('@');
  if (at == std::string::npos) return fault;
  const size_t count = std::min(all.find('#'), all.size());
  fault.what_ = all.substr(0, at);
  fault.stage_ = all.substr(at + 1, count - at - 1);
  std::ranges::replace(fault.stage_, '-', ' ');
  if (count < all.size()) fault.left_ = NumberOf(all.substr(count + 1), 1);
  return fault;
}

void WorkerFault::At(WorkerStage stage) {
  if (what_.empty() || ToString(stage) != stage_) return;
  if (--left_ == 0) Commit(what_);
}

}  // namespace hloscope::replay
