// Watching one instruction, and the values it is to be cut off at.
#include "core/debug/run/capture_observer.h"

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;

// By computation: it is, or reaches, the one called `target`.
std::vector<bool> ComputationsAround(const Module& module, hlo::ComputationId target) {
  std::vector<bool> around(module.computations().size(), false);
  around[target.index] = true;
  return hlo::WithCallers(hlo::CallGraphOf(module).calls(), std::move(around));
}

}  // namespace

CaptureObserver::CaptureObserver(const Module& module, InstructionId root,
                                 std::vector<InstructionId> parameters, int64_t iteration)
    : module_(module),
      root_(root),
      parameters_(std::move(parameters)),
      values_(parameters_.size()),
      iteration_(iteration),
      left_(iteration),
      around_(ComputationsAround(module, module[root].computation)) {}

std::unique_ptr<replay::RemoteObserver> CaptureObserver::Make(const Module& module,
                                                              replay::ValueReader& request) {
  const auto root = request.Get<InstructionId>();
  auto parameters = request.Get<std::vector<InstructionId>>();
  const auto iteration = request.Get<int64_t>();
  if (!request.ok() || root.index >= module.instructions().size()) return nullptr;
  return std::make_unique<CaptureObserver>(module, root, std::move(parameters), iteration);
}

Status CaptureObserver::OnValue(const eval::Site& site, std::span<const eval::Value>,
                                const eval::Value& value) {
  if (site.device != 0 || done_) return {};
  const auto it = std::ranges::lower_bound(parameters_, site.instruction.index, {},
                                           [](InstructionId id) { return id.index; });
  if (it != parameters_.end() && *it == site.instruction) {
    values_[static_cast<size_t>(it - parameters_.begin())] = value;
  }
  if (site.instruction != root_) return {};
  ++executions_;
  if (left_-- > 0) return {};
  done_ = true;
  value_ = value;
  return std::unexpected(Error{ErrorClass::kDied, "the observer has seen enough", {}, {}});
}

bool CaptureObserver::WantsLanes(InstructionId caller) {
  return std::ranges::any_of(hlo::CallGraphOf(module_).calls(caller),
                             [&](const hlo::Call& call) { return around_[call.callee.index]; });
}

void CaptureObserver::WriteRequest(replay::ValueWriter& out) const {
  out.Put(root_, parameters_, iteration_);
}

void CaptureObserver::WriteFindings(replay::ValueWriter& out) const {
  out.Put(done_, executions_);
  for (const eval::Value& value : values_) out.PutValue(value);
  out.PutValue(value_);
}

Status CaptureObserver::ReadFindings(replay::ValueReader& in) {
  done_ = in.Get<bool>();
  executions_ = in.Get<int64_t>();
  for (eval::Value& value : values_) value = in.GetValue();
  value_ = in.GetValue();
  if (!in.ok()) return InputError("malformed captured values");
  return {};
}

}  // namespace hloscope::debug
