// Walking the call graph from the entry, callers before callees.
#include "core/analysis/place/call_counts.h"

#include <charconv>

#include "core/analysis/place/boundaries.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::Module;
using hlo::Opcode;
using Kind = CallContext::Kind;

class Counter {
 public:
  explicit Counter(const Module& module) : module_(module) {
    result_.contexts.resize(module.computations().size());
    result_.executions.resize(module.computations().size(), 0);
  }

  CallCounts Run() {
    result_.contexts[module_.entry_id().index].kind = Kind::kSequence;
    result_.executions[module_.entry_id().index] = 1;
    for (ComputationId c : hlo::CallGraphOf(module_).callers_first()) {
      for (const Instruction& i : module_.instructions(module_[c])) {
        if (i.attribute_count != 0) Follow(i);
      }
    }
    return std::move(result_);
  }

 private:
  void Follow(const Instruction& i) {
    std::vector<ComputationId> called = module_.CalledComputations(i);
    if (called.empty()) return;
    const CallContext outer = result_.contexts[i.computation.index];
    if (outer.kind == Kind::kNone) return;
    CallContext inner = outer;
    bool sequence = i.opcode == Opcode::kWhile || i.opcode == Opcode::kConditional ||
                    i.opcode == Opcode::kAsyncStart || i.opcode == Opcode::kAsyncUpdate ||
                    i.opcode == Opcode::kAsyncDone ||
                    (i.opcode == Opcode::kCall && !IsKernelCall(module_, i));
    if (outer.kind == Kind::kKernel || !sequence) inner.kind = Kind::kKernel;
    if (inner.host == FallbackReason::kNone) inner.host = HostReasonOf(module_, i);
    int64_t before = result_.executions[i.computation.index];
    int64_t trips = i.opcode == Opcode::kWhile ? KnownTripCount(module_, i) : 1;
    for (ComputationId c : called) {
      CallContext& context = result_.contexts[c.index];
      if (context.kind == Kind::kNone || inner.kind == Kind::kSequence) context = inner;
      // The later part of an asynchronous pair names its computation again, and does not run it.
      if (i.opcode == Opcode::kAsyncUpdate || i.opcode == Opcode::kAsyncDone) continue;
      bool condition =
          i.opcode == Opcode::kWhile && c == module_.GetComputation(i, AttributeKey::kCondition);
      int64_t times = condition && trips >= 0 ? trips + 1 : trips;
      if (i.opcode == Opcode::kConditional) times = -1;
      AddExecutions(result_.executions[c.index], before, times);
    }
  }

  static void AddExecutions(int64_t& sum, int64_t outer, int64_t times) {
    int64_t product = 0;
    bool known = sum >= 0 && outer >= 0 && times >= 0 &&
                 !__builtin_mul_overflow(outer, times, &product) &&
                 !__builtin_add_overflow(sum, product, &product);
    sum = known ? product : -1;
  }

  const Module& module_;
  CallCounts result_;
};

std::string_view FrontendValue(const Module& module, const Instruction& i, std::string_view key) {
  const auto* list = module.Get<hlo::FrontendAttributes>(i, AttributeKey::kFrontendAttributes);
  if (list == nullptr) return {};
  for (const hlo::FrontendAttribute& entry : list->entries) {
    if (module[entry.key] == key) return module[entry.value];
  }
  return {};
}

}  // namespace

CallCounts CountCalls(const Module& module) { return Counter(module).Run(); }

std::string_view BackendConfigText(const Module& module, const Instruction& i) {
  const auto* config = module.Get<hlo::BackendConfig>(i, AttributeKey::kBackendConfig);
  return config == nullptr ? std::string_view() : module[config->text];
}

int64_t KnownTripCount(const Module& module, const Instruction& loop) {
  std::string_view text = BackendConfigText(module, loop);
  size_t at = text.find("\"known_trip_count\"");
  if (at == std::string_view::npos) return -1;
  text.remove_prefix(at);
  size_t digit = text.find_first_of("0123456789}");
  if (digit == std::string_view::npos || text[digit] == '}') return -1;
  int64_t count = -1;
  auto [end, error] = std::from_chars(text.data() + digit, text.data() + text.size(), count);
  return error == std::errc() ? count : -1;
}

FallbackReason HostReasonOf(const Module& module, const Instruction& i) {
  std::string_view type = FrontendValue(module, i, "_xla_compute_type");
  if (type == "host" || type == "\"host\"") return FallbackReason::kHostComputeAsked;
  bool async = i.opcode == Opcode::kAsyncStart;
  if (async && module.GetString(i, AttributeKey::kAsyncExecutionThread) == "host") {
    return FallbackReason::kHostThread;
  }
  std::string_view config = BackendConfigText(module, i);
  if (config.find("\"DEVICE_TYPE_HOST\"") != std::string_view::npos) {
    return FallbackReason::kHostDeviceType;
  }
  return FallbackReason::kNone;
}

}  // namespace hloscope::analysis
