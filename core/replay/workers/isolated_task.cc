// IsolatedTasks: one job each for a worker that is started for it and ends with it.
#include "core/replay/workers/isolated_task.h"

#include <algorithm>

#include "core/replay/workers/worker_process.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

namespace {

using Clock = std::chrono::steady_clock;

// Both ends are ours: what is sent is as large as it is.
constexpr int64_t kMaxFrameBytes = int64_t{1} << 40;
constexpr std::chrono::hours kLongest{1 << 19};  // more would overflow the clock

}  // namespace

Result<std::string> RunIsolatedTask(const IsolatedTaskRequest& request,
                                    const std::stop_token& stop) {
  WorkerStart start;
  start.program = request.program;
  start.platform = request.name;
  // Only errors, not how the plugin is getting on.
  start.environment = request.environment;
  for (const std::string_view own : {"TF_CPP_MIN_LOG_LEVEL=1", "TZ=UTC"}) {
    const std::string_view name = own.substr(0, own.find('=') + 1);
    const auto sets = [&](const std::string& variable) { return variable.starts_with(name); };
    if (std::ranges::none_of(start.environment, sets)) start.environment.emplace_back(own);
  }
  start.log = request.log;
  start.most_frame_bytes = kMaxFrameBytes;
  start.deadline = Clock::now() + std::min<std::chrono::milliseconds>(request.deadline, kLongest);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto worker, WorkerProcess::Start(start));
  ValueWriter job(FrameKind::kTask);
  job.Put(request.name, uint64_t{request.bytes.size()});
  job.PutData(std::as_bytes(std::span(request.bytes)));
  const Budget bounds{
      .memory_bytes = request.memory_bytes, .deadline = start.deadline, .stop = stop};
  Result<std::string> answer;
  const auto take = [&](const Frame& frame) -> Result<bool> {
    ValueReader in(frame);
    if (static_cast<FrameKind>(frame.kind) == FrameKind::kTaskDone) {
      const auto bytes = in.GetData(in.Get<uint64_t>());
      answer = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else if (static_cast<FrameKind>(frame.kind) == FrameKind::kFailed) {
      answer = std::unexpected(in.GetError());
    } else {
      in.Fail();
    }
    return in.ok() ? Result<bool>(true) : InternalError("malformed answer from a worker");
  };
  const Status done = worker->Exchange(job.Finish(), bounds, take);
  worker->ReadOutput();
  if (!done) return std::unexpected(done.error());
  if (answer.has_value()) HLOSCOPE_TRY(worker->CheckLog());
  return answer;
}

}  // namespace hloscope::replay
