// IsolatedTasks: the request lies in sealed memory, the answer in memory that is read when the
// child has ended.
#include "core/replay/workers/isolated_task.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/byte_archive.h"
#include "core/base/child_process.h"
#include "core/base/machine_memory.h"
#include "core/base/sealed_memory.h"
#include "core/base/system_error.h"
#include "core/replay/workers/worker_environment.h"
#include "core/replay/workers/worker_process.h"

namespace hloscope::replay {

#define ERRAND(name, function) Result<std::string> function(std::string_view request);
#include "core/replay/workers/isolated_tasks.def"
#undef ERRAND

namespace {

struct IsolatedTaskRow {
  std::string_view name;
  IsolatedTaskFunction run;
};
constexpr IsolatedTaskRow kRows[] = {
#define ERRAND(name, function) {name, function},
#include "core/replay/workers/isolated_tasks.def"
#undef ERRAND
};

// The child's descriptors.
constexpr int kRequest = 3, kAnswer = 4;
constexpr size_t kPrintedKept = 16 << 10;
constexpr int kBetweenLooks = 10;  // milliseconds, at its time and memory

Result<std::string> ReadWhole(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return SystemFailure("read a message");
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return SystemFailure("read a message");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

bool WriteWhole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

std::string Encode(const Result<std::string>& answer) {
  ByteWriter out;
  if (answer.has_value()) {
    out(true, *answer);
  } else {
    const Error& error = answer.error();
    out(false, error.error_class, error.message, error.hint);
  }
  return std::move(out).Take();
}

Result<std::string> Decode(std::string_view bytes) {
  ByteReader in(std::as_bytes(std::span(bytes)));
  if (in.Get<bool>()) {
    std::string answer = in.Get<std::string>();
    if (in.ok() && in.empty()) return answer;
  } else {
    Error error;
    in(error.error_class, error.message, error.hint);
    if (in.ok() && in.empty() && error.error_class <= ErrorClass::kInternal) {
      return std::unexpected(std::move(error));
    }
  }
  return InternalError("malformed answer from a child process");
}

Error Died(const IsolatedTaskRequest& request, std::string_view how, std::string_view printed) {
  const std::string last = LastWords(printed);
  return Error{ErrorClass::kDied,
               fmt::format("the child process for {} {}{}{}", request.name, how,
                           last.empty() ? "" : "; last output: ", last),
               {},
               {}};
}

// Why the child may not go on; nothing while it may.
std::optional<std::string> Overstepped(const IsolatedTaskRequest& request,
                                       const ChildProcess& child,
                                       std::chrono::steady_clock::time_point end,
                                       const std::stop_token& stop) {
  if (stop.stop_requested()) return "was stopped";
  if (std::chrono::steady_clock::now() >= end) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(request.deadline);
    return fmt::format("did not answer within {} s", seconds.count());
  }
  if (request.memory_bytes <= 0) return std::nullopt;
  const std::optional<int64_t> held = ResidentBytesOf(std::to_string(child.pid()));
  if (!held || *held <= request.memory_bytes) return std::nullopt;
  return fmt::format("exceeded the memory limit of {} bytes", request.memory_bytes);
}

// Takes in what the child prints until it ends; why it had to be ended, if it had.
std::optional<std::string> Listen(const IsolatedTaskRequest& request, ChildProcess& child,
                                  const std::stop_token& stop, std::string& printed) {
  constexpr std::chrono::hours kLongest{1 << 19};  // more would overflow the clock
  const auto end = std::chrono::steady_clock::now() +
                   std::min<std::chrono::milliseconds>(request.deadline, kLongest);
  bool talks = true;
  for (;;) {
    if (auto why = Overstepped(request, child, end, stop)) return why;
    pollfd waiting{talks ? child.output() : -1, POLLIN, 0};
    poll(&waiting, 1, kBetweenLooks);
    char buffer[4096];
    const ssize_t got = talks ? read(child.output(), buffer, sizeof buffer) : -1;
    if (got > 0) printed.append(buffer, static_cast<size_t>(got));
    if (printed.size() > 2 * kPrintedKept) printed.erase(0, printed.size() - kPrintedKept);
    if (got == 0) talks = false;  // nobody is left who could print; it is about to end
    if (got <= 0 && child.Wait(std::chrono::milliseconds(0))) return std::nullopt;
  }
}

}  // namespace

Result<IsolatedTaskAnswer> RunIsolatedTask(const IsolatedTaskRequest& request,
                                           const std::stop_token& stop) {
  const std::span<const std::byte> part = std::as_bytes(std::span(request.bytes));
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd question,
                            SealBytes(std::span(&part, 1), [] { return Status(); }));
  const UniqueFd answer(memfd_create("answer", MFD_CLOEXEC));
  if (!answer.valid()) return SystemFailure("create memory for an answer");
  ChildOptions options;
  options.program = kThisProgram;
  options.arguments = {"hloscope", std::string(kIsolatedTaskArgument), request.name};
  // Only errors, not how the plugin is getting on.
  options.environment = CleanEnvironment({"TF_CPP_MIN_LOG_LEVEL=1", "TZ=UTC"});
  options.descriptors = {question.get(), answer.get()};
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  std::string printed;
  if (const std::optional<std::string> why = Listen(request, child, stop, printed)) {
    child.Kill();
    return std::unexpected(Died(request, *why, printed));
  }
  const std::optional<ChildExit> exit = child.Wait(std::chrono::milliseconds(0));
  if (!exit || exit->by_signal || exit->code != 0) {
    return std::unexpected(Died(request, exit ? exit->ToString() : "is gone", printed));
  }
  const Result<std::string> bytes = ReadWhole(answer.get());
  if (!bytes.has_value()) return std::unexpected(bytes.error());
  HLOSCOPE_ASSIGN_OR_RETURN(std::string decoded, Decode(*bytes));
  return IsolatedTaskAnswer{std::move(decoded), std::move(printed)};
}

int IsolatedTaskMain(std::string_view name) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto row = std::ranges::find(kRows, name, &IsolatedTaskRow::name);
  const Result<std::string> request = ReadWhole(kRequest);
  if (row == std::end(kRows) || !request.has_value()) return EXIT_FAILURE;
  const std::string answer = Encode(row->run(*request));
  const bool written = WriteWhole(kAnswer, answer);
  // Without the destructors of what was loaded: they are not ours and may crash.
  _exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace hloscope::replay
