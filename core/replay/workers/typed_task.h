// Isolated tasks whose request and answer are types with an Archive, for both sides.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/byte_archive.h"
#include "core/replay/workers/isolated_task.h"

namespace hloscope::replay {

// The answer of the task that `request` names, which gets the bytes of `job`. Errors: those of
// RunIsolatedTask.
template <typename Answer, typename Job>
Result<Answer> RunTypedTask(IsolatedTaskRequest request, const Job& job,
                            const std::stop_token& stop) {
  ByteWriter out;
  out(job);
  request.bytes = std::move(out).Take();
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string answered, RunIsolatedTask(request, stop));
  Answer answer;
  ByteReader in(std::as_bytes(std::span(answered)));
  in(answer);
  if (!in.ok()) return InternalError("malformed answer from a child process");
  return answer;
}

// The child's side: what `work` answers to the job in `request`, as bytes.
template <typename Job, typename Work>
Result<std::string> DoTypedTask(std::string_view request, const Work& work) {
  Job job;
  ByteReader in(std::as_bytes(std::span(request)));
  in(job);
  if (!in.ok()) return InternalError("malformed request");
  HLOSCOPE_ASSIGN_OR_RETURN(const auto answer, work(job));
  ByteWriter out;
  out(answer);
  return std::move(out).Take();
}

}  // namespace hloscope::replay
