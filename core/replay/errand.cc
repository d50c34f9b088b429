// Errands: the request lies in sealed memory, the answer in memory that is read when the child has
// ended.
#include "core/replay/errand.h"

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
#include "core/base/sealed_memory.h"
#include "core/base/system_error.h"
#include "core/replay/worker_process.h"

namespace hloscope::replay {

#define ERRAND(name, function) Result<std::string> function(std::string_view request);
#include "core/replay/errands.def"
#undef ERRAND

namespace {

struct ErrandRow {
  std::string_view name;
  ErrandFunction run;
};
constexpr ErrandRow kRows[] = {
#define ERRAND(name, function) {name, function},
#include "core/replay/errands.def"
#undef ERRAND
};

// The child's descriptors.
constexpr int kRequest = 3, kAnswer = 4;
constexpr size_t kPrintedKept = 16 << 10;

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
  return InternalError("a child answered what nobody can read");
}

Error Died(const ErrandRequest& request, std::string_view how, std::string_view printed) {
  const std::string last = LastWords(printed);
  return Error{ErrorClass::kDied,
               fmt::format("the child for {} {}{}{}", request.name, how,
                           last.empty() ? "" : "; its last words: ", last),
               {},
               {}};
}

// Takes in what the child prints until it ends; false at the deadline or when stopped.
bool Listen(ChildProcess& child, std::chrono::steady_clock::time_point end,
            const std::stop_token& stop, std::string& printed) {
  using namespace std::chrono;
  while (!stop.stop_requested() && steady_clock::now() < end) {
    pollfd waiting{child.output(), POLLIN, 0};
    poll(&waiting, 1, 20);
    char buffer[4096];
    const ssize_t got = read(child.output(), buffer, sizeof buffer);
    if (got > 0) printed.append(buffer, static_cast<size_t>(got));
    if (printed.size() > 2 * kPrintedKept) printed.erase(0, printed.size() - kPrintedKept);
    if (got == 0)
      return child.Wait(duration_cast<milliseconds>(end - steady_clock::now())).has_value();
    if (got < 0 && child.Wait(milliseconds(0))) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> ErrandEnvironment() {
  constexpr std::string_view kPassedOn[] = {
#define PASSED_ON(name, reason) name,
#include "core/replay/worker_environment.def"
#undef PASSED_ON
  };
  // Only errors, not how the plugin is getting on.
  std::vector<std::string> passed{"TF_CPP_MIN_LOG_LEVEL=1", "TZ=UTC"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const bool passes = std::ranges::any_of(kPassedOn, [&](std::string_view pattern) {
      return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                    : name == pattern;
    });
    if (passes) passed.emplace_back(text);
  }
  return passed;
}

Result<ErrandAnswer> RunErrand(const ErrandRequest& request, const std::stop_token& stop) {
  const std::span<const std::byte> part = std::as_bytes(std::span(request.bytes));
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd question, SealBytes(std::span(&part, 1)));
  const UniqueFd answer(memfd_create("answer", MFD_CLOEXEC));
  if (!answer.valid()) return SystemFailure("make memory for an answer");
  ChildOptions options;
  options.program = kThisProgram;
  options.arguments = {"hloscope", std::string(kErrandArgument), request.name};
  options.environment = ErrandEnvironment();
  options.descriptors = {question.get(), answer.get()};
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  std::string printed;
  if (!Listen(child, std::chrono::steady_clock::now() + request.deadline, stop, printed)) {
    child.Kill();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(request.deadline);
    return std::unexpected(Died(request,
                                stop.stop_requested()
                                    ? "was stopped"
                                    : fmt::format("gave no answer in {} s", seconds.count()),
                                printed));
  }
  const std::optional<ChildExit> exit = child.Wait(std::chrono::milliseconds(0));
  if (!exit || exit->by_signal || exit->code != 0) {
    return std::unexpected(Died(request, exit ? exit->ToString() : "is gone", printed));
  }
  const Result<std::string> bytes = ReadWhole(answer.get());
  if (!bytes.has_value()) return std::unexpected(bytes.error());
  HLOSCOPE_ASSIGN_OR_RETURN(std::string decoded, Decode(*bytes));
  return ErrandAnswer{std::move(decoded), std::move(printed)};
}

int ErrandMain(std::string_view name) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto row = std::ranges::find(kRows, name, &ErrandRow::name);
  const Result<std::string> request = ReadWhole(kRequest);
  if (row == std::end(kRows) || !request.has_value()) return EXIT_FAILURE;
  const std::string answer = Encode(row->run(*request));
  const bool written = WriteWhole(kAnswer, answer);
  // Without the destructors of what was loaded: they are not ours and may crash.
  _exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace hloscope::replay
