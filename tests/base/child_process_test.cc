// Child processes: what they inherit, what they print, how they end, and that nothing is left.
#include "core/base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/base/paths.h"

namespace hloscope {
namespace {

using std::chrono::milliseconds;

ChildOptions Shell(std::string script) {
  return {"/bin/sh", {"sh", "-c", std::move(script)}, {"PATH=/usr/bin:/bin"}, {}};
}

std::string AllOutput(const ChildProcess& child) {
  std::string all;
  char block[4096];
  for (;;) {
    pollfd fd{child.output(), POLLIN, 0};
    if (poll(&fd, 1, 10'000) <= 0) return all + "(nothing more in ten seconds)";
    const ssize_t n = read(child.output(), block, sizeof(block));
    if (n <= 0) return all;
    all.append(block, static_cast<size_t>(n));
  }
}

bool HasChildren() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST(ChildProcess, SaysHowItEnded) {
  const struct {
    std::string script, end;
  } kCases[] = {
      {"exit 0", "ended with exit status 0"},
      {"exit 3", "ended with exit status 3"},
      {"kill -SEGV $$", "was killed by signal 11 (SIGSEGV)"},
      {"kill -KILL $$", "was killed by signal 9 (SIGKILL)"},
  };
  for (const auto& c : kCases) {
    auto child = ChildProcess::Spawn(Shell(c.script));
    ASSERT_TRUE(child.has_value());
    const auto exit = child->Wait(milliseconds(10'000));
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->ToString(), c.end);
  }
  EXPECT_FALSE(HasChildren());
}

TEST(ChildProcess, InheritsNothingThatIsNotGiven) {
  setenv("HLOSCOPE_TEST_SECRET", "secret", 1);
  const UniqueFd leak(open(SourcePath("README.md").c_str(), O_RDONLY));  // without close-on-exec
  const UniqueFd given(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ChildOptions options = Shell(
      "env; for f in /proc/self/fd/*; do readlink $f; done; cat; "
      "[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo own group; "
      "exec grep SigBlk /proc/self/status");
  options.environment.push_back("GIVEN=yes");
  options.descriptors = {given.get()};
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto child = ChildProcess::Spawn(options);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(child.has_value());
  const std::string output = AllOutput(*child);
  EXPECT_EQ(output.find("secret"), std::string::npos) << output;
  EXPECT_NE(output.find("GIVEN=yes"), std::string::npos) << output;
  EXPECT_NE(output.find("/dev/zero"), std::string::npos) << output;
  EXPECT_NE(output.find("SigBlk:\t0000000000000000"), std::string::npos) << output;
  EXPECT_EQ(output.find("README.md"), std::string::npos) << output;
  EXPECT_NE(output.find("own group"), std::string::npos) << output;
  unsetenv("HLOSCOPE_TEST_SECRET");
}

TEST(ChildProcess, DestroyingKillsAndReaps) {
  for (int i = 0; i < 20; ++i) {
    auto child = ChildProcess::Spawn(Shell("sleep 1000"));
    ASSERT_TRUE(child.has_value());
    EXPECT_FALSE(child->Wait(milliseconds(1)).has_value());
  }
  EXPECT_FALSE(HasChildren());
}

// The process of that number, which is not ours to wait for, is gone or a zombie.
bool IsGone(const std::string& pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream stat("/proc/" + pid + "/stat");
    std::string text;
    std::getline(stat, text);
    if (text.empty() || text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

std::string FirstLine(const ChildProcess& child) {
  std::string line;
  for (char c = 0; c != '\n';) {
    pollfd fd{child.output(), POLLIN, 0};
    if (poll(&fd, 1, 10'000) <= 0 || read(child.output(), &c, 1) != 1) break;
    if (c != '\n') line += c;
  }
  return line;
}

// A shell's own children go with it: killed, destroyed, or ended before them.
TEST(ChildProcess, WhatItStartedGoesWithIt) {
  for (const bool destroyed : {false, true}) {
    std::optional<ChildProcess> child = *ChildProcess::Spawn(Shell("sleep 1000 & echo $!; wait"));
    const std::string grandchild = FirstLine(*child);
    ASSERT_FALSE(grandchild.empty());
    if (destroyed) {
      child.reset();
    } else {
      child->Kill();
    }
    EXPECT_TRUE(IsGone(grandchild)) << destroyed;
  }
  auto ended = *ChildProcess::Spawn(Shell("sleep 1000 & echo $!"));
  const std::string grandchild = FirstLine(ended);
  EXPECT_TRUE(ended.Wait(milliseconds(10'000)).has_value());
  EXPECT_TRUE(IsGone(grandchild));
  EXPECT_FALSE(HasChildren());
}

// The grandchild holds the pipe, in the group or outside of it.
TEST(ChildProcess, ReadingEndsWithTheProcess) {
  for (const std::string_view start : {"", "setsid "}) {
    auto child = *ChildProcess::Spawn(Shell(std::string(start) + "sleep 1000 & echo $!; exit 3"));
    const std::string output =
        child.ReadAll({}, std::chrono::steady_clock::now() + std::chrono::minutes(1));
    EXPECT_FALSE(child.passed_deadline());
    EXPECT_EQ(child.Wait(milliseconds(10'000))->code, 3);
    if (start.empty()) {
      EXPECT_TRUE(IsGone(output.substr(0, output.find('\n'))));
    } else {
      kill(std::stoi(output), SIGKILL);  // a daemon is not ours to end, but by this test
    }
  }
  EXPECT_FALSE(HasChildren());
}

TEST(ChildProcess, ReadingEndsAtTheDeadlineAndWhenStopped) {
  const auto spawn = [] { return *ChildProcess::Spawn(Shell("sleep 1000 & echo $!; sleep 1000")); };
  auto late = spawn();
  const std::string output = late.ReadAll({}, std::chrono::steady_clock::now() + milliseconds(50));
  EXPECT_TRUE(late.passed_deadline());
  EXPECT_TRUE(late.Wait(milliseconds(10'000))->by_signal);
  if (!output.empty()) {
    EXPECT_TRUE(IsGone(output.substr(0, output.find('\n'))));
  }

  auto stopped = spawn();
  const std::string grandchild = FirstLine(stopped);
  std::stop_source stop;
  stop.request_stop();
  stopped.ReadAll(stop.get_token(), std::chrono::steady_clock::now() + std::chrono::minutes(1));
  EXPECT_FALSE(stopped.passed_deadline());
  EXPECT_TRUE(stopped.Wait(milliseconds(10'000))->by_signal);
  EXPECT_TRUE(IsGone(grandchild));
  EXPECT_FALSE(HasChildren());
}

TEST(ChildProcess, WhatCannotStartIsAnError) {
  const auto child = ChildProcess::Spawn({"/no/such/program", {"x"}, {}, {}});
  ASSERT_FALSE(child.has_value());
  EXPECT_EQ(child.error().error_class, ErrorClass::kEnvironment);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
  EXPECT_FALSE(HasChildren());
}

// A child that is stopped before it runs its program: whoever starts it goes on.
TEST(ChildProcess, WhatIsStoppedAsItStartsEndsAtTheDeadline) {
  std::atomic<bool> over = false;
  const pid_t spawning = gettid();
  std::jthread stopping([&] {
    const std::string list = "/proc/self/task/" + std::to_string(spawning) + "/children";
    while (!over) {
      std::ifstream children(list);
      for (pid_t pid = 0; children >> pid;) kill(pid, SIGSTOP);
    }
  });
  int late = 0;
  constexpr int kMaxTries = 500;
  for (int i = 0; i < kMaxTries && late == 0; ++i) {
    ChildOptions options = Shell("exit 0");
    options.start_deadline = std::chrono::steady_clock::now() + milliseconds(200);
    const auto child = ChildProcess::Spawn(options);
    if (child.has_value()) continue;
    EXPECT_EQ(child.error().error_class, ErrorClass::kDeadlineExceeded) << child.error().ToString();
    ++late;
  }
  over = true;
  stopping.join();
  EXPECT_EQ(late, 1);
  EXPECT_FALSE(HasChildren());
}

// From many threads at once, with descriptors that others are opening and closing.
TEST(ChildProcess, StartsFromManyThreads) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 25; ++i) {
        auto child = ChildProcess::Spawn(Shell("echo hello"));
        ASSERT_TRUE(child.has_value());
        EXPECT_EQ(AllOutput(*child), "hello\n");
        EXPECT_TRUE(child->Wait(milliseconds(10'000)).has_value());
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(HasChildren());
}

}  // namespace
}  // namespace hloscope
