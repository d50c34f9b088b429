// What a worker and its parent say to one another: the kinds of frames, and values as fields and
// data. Strictly one job at a time: the parent sends it, the worker streams what comes of it, its
// last frame is kLoaded, kRan or kFailed. Infeeds and outfeeds ask the parent while they run, since
// how many there are may depend on data. What is wanted of a run travels as its capture plan, and
// what comes of it is a stream of events.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/byte_archive.h"
#include "core/base/frame_socket.h"
#include "core/hlo/literal.h"
#include "core/replay/platform.h"
#include "core/runtime/value.h"

namespace hloscope::replay {

// What a worker is at, shown where it dies.
enum class WorkerStage : uint32_t {
  kStart,  // the process comes up
  kIdle,
  kLoad,     // the platform, its plugin, and the job
  kVerify,   // whether the module came whole
  kCompile,  // the platform's Load
  kRun,
  kReadBack,  // from the first result on
};
// "read back"; "an unknown stage" for a number that is none.
std::string_view ToString(WorkerStage stage);

// Every message: who sends it, and what it carries.
enum class FrameKind : uint32_t {
  kReady,     // worker: the process is up: ProtocolText, to be sure of the build
  kLoad,      // parent: executable id, platform, options; the module image as data
  kLoaded,    // worker: milliseconds that loading took
  kRun,       // parent: executable id, options, which feeds there are; inputs as data, or none: as
              // before
  kEvent,     // worker: a RunEvent: its alternative, then its fields
  kTake,      // worker: shape of the array that an infeed wants; kFed answers
  kGive,      // worker: the array that an outfeed gives; kFed answers
  kFed,       // parent: value or error
  kRan,       // worker: RunResult: the job is done
  kFailed,    // worker: error, whether the worker is of no more use: the job is done
  kTask,      // parent: name and length of an isolated task's request, which is the data
  kTaskDone,  // worker: length of the answer, which is the data: the job is done
  kUnload,    // parent: executable id; nothing answers
};

// The page that worker and parent share: it says how far a worker came even where it could send
// nothing any more.
struct WorkerPage {
  std::atomic<uint32_t> stage = 0;
};

// The descriptors a worker starts with.
inline constexpr int kWorkerSocket = 3;
inline constexpr int kWorkerPage = 4;
// The first argument of a worker; then the most bytes of a frame, and 1 if it is to die with the
// thread that started it.
inline constexpr std::string_view kWorkerArgument = "--worker-process";

// What both ends must agree on: the sizes of what is sent as it lies in memory.
std::string ProtocolText();

// A frame in the making: fields go to `head`, the bytes of values beside it. Values must live until
// it is sent.
class ValueWriter {
 public:
  static constexpr bool kWrites = true;

  explicit ValueWriter(FrameKind kind) { frame_.kind = static_cast<uint32_t>(kind); }

  template <typename... T>
  void Put(const T&... fields) {
    head_(fields...);
  }
  // As ByteWriter has it, and what is put by its own function below.
  template <typename... T>
  void operator()(const T&... fields) {
    (One(fields), ...);
  }
  void PutData(std::span<const std::byte> bytes);
  void PutError(const Error& error);
  void PutLiteral(const hlo::Literal& literal);
  void PutValue(const runtime::Value& value);
  void PutKey(const ValueKey& key);
  void PutResult(const Result<hlo::Literal>& value);

  const OutgoingFrame& Finish();

 private:
  template <typename T>
  void One(const T& field) {
    head_(field);
  }
  void One(const Error& error) { PutError(error); }
  void One(const hlo::Literal& literal) { PutLiteral(literal); }
  void One(const Result<hlo::Literal>& value) { PutResult(value); }
  void One(const ValueKey& key) { PutKey(key); }
  void One(const std::vector<runtime::Value>& values);
  void One(const std::shared_ptr<const hlo::Module>& module);

  ByteWriter head_;
  OutgoingFrame frame_;
};

// A frame being read. Large arrays stay views of its data. Whatever the bytes are, reading them is
// safe: what makes no sense gives empty values and makes ok() false.
class ValueReader {
 public:
  static constexpr bool kWrites = false;

  explicit ValueReader(const Frame& frame)
      : head_(std::as_bytes(std::span(frame.head))), data_(frame.data), left_(frame.data.bytes) {}

  template <typename T>
  T Get() {
    return head_.Get<T>();
  }
  // As ByteReader has it, and what is got by its own function below.
  template <typename... T>
  void operator()(T&... fields) {
    (One(fields), ...);
  }
  // The next part of the data, which has to be that long.
  std::span<const std::byte> GetData(uint64_t size);
  Error GetError();
  hlo::Literal GetLiteral();
  runtime::Value GetValue();
  ValueKey GetKey();
  Result<hlo::Literal> GetResult();

  const std::shared_ptr<const void>& owner() const { return data_.owner; }
  bool ok() const { return head_.ok(); }
  void Fail() { head_.Fail(); }

 private:
  template <typename T>
  void One(T& field) {
    head_(field);
  }
  void One(Error& error) { error = GetError(); }
  void One(hlo::Literal& literal) { literal = GetLiteral(); }
  void One(Result<hlo::Literal>& value) { value = GetResult(); }
  void One(ValueKey& key) { key = GetKey(); }
  void One(std::vector<runtime::Value>& values);
  void One(std::shared_ptr<const hlo::Module>& module);  // may be null

  ByteReader head_;
  SharedBytes data_;
  std::span<const std::byte> left_;
};

// The options but for what stays on the parent's side.
void PutOptions(ValueWriter& out, const RunOptions& options);
RunOptions GetOptions(ValueReader& in);

template <typename A>
void Archive(A& a, Archived<A, RunFinding::Side>& side) {
  auto& [file, form, line, column, block, thread] = side;
  a(file, form, line, column, block, thread);
}

template <typename A>
void Archive(A& a, Archived<A, RunFinding>& event) {
  auto& [kind, what, instruction, kernel, at, other, memory, byte, count] = event;
  a(kind, what, instruction, kernel, at, other, memory, byte, count);
}

template <typename A>
void Archive(A& a, Archived<A, TraceSlice>& slice) {
  auto& [name, lane, start_ns, duration_ns] = slice;
  a(name, lane, start_ns, duration_ns);
  if constexpr (!A::kWrites) {
    if (duration_ns < 0) a.Fail();
  }
}

void PutEvent(ValueWriter& out, const RunEvent& event);
// Nothing where it is malformed. Ids and numbers in it may still be of what there is not.
std::optional<RunEvent> GetEvent(ValueReader& in);

}  // namespace hloscope::replay
