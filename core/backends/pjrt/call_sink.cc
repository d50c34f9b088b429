#include "core/backends/pjrt/call_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/analysis/place/boundaries.h"
#include "core/backends/pjrt/device_bytes.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::replay::pjrt {

using hlo::InstructionId;
using hlo::Module;

CallSink::CallSink(const Module& module, const std::vector<bool>& points, const CapturePlan& plan,
                   RunStream& stream)
    : module_(module),
      plan_(plan),
      stream_(stream),
      forms_(module.instructions().size(), CaptureForm::kNone),
      inner_(module.instructions().size()) {
  for (const CaptureItem& item : plan.items) {
    if (item.scope == CaptureScope::kInstructions) {
      for (const InstructionId id : item.instructions) forms_[id.index] = item.form;
    } else {
      for (const InstructionId id : analysis::BoundariesOf(module)) forms_[id.index] = item.form;
    }
  }
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  for (uint32_t c = 0; c < module.computations().size(); ++c) {
    callers_.push_back(graph.FirstCaller(hlo::ComputationId(c)));
  }
  for (uint32_t k = 0; k < points.size(); ++k) {
    const InstructionId caller = callers_[module.instructions()[k].computation.index];
    if (points[k] && caller.valid()) inner_[caller.index].push_back(InstructionId(k));
  }
}

// The number of executions of an instruction in the present entry of its computation is the
// iteration of its caller.
ValueKey CallSink::Count(InstructionId id, int64_t device) {
  const std::lock_guard lock(mutex_);
  Counts& counts = counts_[device];
  counts.all.resize(forms_.size());
  counts.before.resize(forms_.size());
  ValueKey key{plan_.stage, device, {}, id, 0};
  for (InstructionId inner = id, caller = callers_[module_[id].computation.index]; caller.valid();
       inner = caller, caller = callers_[module_[caller].computation.index]) {
    key.path.push_back({caller, counts.all[inner.index] - counts.before[inner.index]});
  }
  std::ranges::reverse(key.path);
  ++counts.all[id.index];
  for (const InstructionId inner : inner_[id.index]) {
    counts.before[inner.index] = counts.all[inner.index];
  }
  return key;
}

Status CallSink::Take(const FfiCall& call) {
  if (call.id < 0 || std::cmp_greater_equal(call.id, forms_.size())) {
    return InternalError("a capturing call of an instruction that does not exist");
  }
  const InstructionId id(static_cast<uint32_t>(call.id));
  const ValueKey key = Count(id, call.device);
  const CaptureForm form = forms_[id.index];
  if (form != CaptureForm::kNone) Tell(key, call, form);
  return {};
}

void CallSink::Tell(const ValueKey& key, const FfiCall& call, CaptureForm form) {
  const auto leaves = module_.shape(key.instruction).Leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const hlo::Shape& shape = *leaves[i].second;
    Result<hlo::Literal> value = hlo::Literal::Token();
    const bool fits =
        i < call.leaves.size() &&
        (shape.IsToken() || (call.leaves[i].type == static_cast<int32_t>(shape.element_type()) &&
                             std::ranges::equal(call.leaves[i].dimensions, shape.dimensions())));
    if (!fits) {
      value = InternalError(
          fmt::format("the plugin passes {} as another type", hlo::ToString(shape, false)));
    } else if (!shape.IsToken()) {
      value = FromDeviceBytes(shape, call.leaves[i].data);
    }
    CapturedValue captured{key, FormOf(value, form)};
    captured.key.leaf = static_cast<int64_t>(i);
    const std::lock_guard lock(stream_mutex_);
    stream_.Take(std::move(captured));
  }
}

}  // namespace hloscope::replay::pjrt
