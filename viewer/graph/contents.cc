// Contents: kernels assigned to operations, and summed up by scope.
#include "viewer/graph/contents.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::viewer {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;

struct ContentsKey {
  using Value = Contents;
  int32_t module = -1, stage = -1;
  bool of_source = false;  // the program is what was written, not the stage itself
  Contents::Measures measures;
  auto operator<=>(const ContentsKey&) const = default;
};

}  // namespace

std::vector<std::string> NamesInFront(const hlo::Module& module) {
  constexpr size_t kLongest = 4096;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  std::vector<std::string> names(module.computations().size());
  for (const ComputationId c : calls.callers_first()) {
    const InstructionId caller = calls.FirstCaller(c);
    if (!caller.valid() || module[caller].opcode != hlo::Opcode::kCall) continue;
    const std::string& outer = names[module[caller].computation.index];
    const std::string_view name = hlo::OpNameOf(module, caller);
    if (!name.empty() && outer.size() < kLongest) names[c.index] = outer + std::string(name) + "/";
  }
  return names;
}

int64_t ContentSums::launches() const {
  return std::accumulate(kernels.begin(), kernels.end(), int64_t{0});
}
double ContentSums::total() const { return std::accumulate(amount.begin(), amount.end(), 0.0); }

ContentSums& ContentSums::operator+=(const ContentSums& other) {
  if (kernel == graph::kNoKernel) kernel = other.kernel;
  operations += other.operations;
  flops += other.flops;
  bytes += other.bytes;
  peak += other.peak;
  hottest = std::max(hottest, other.hottest);
  numbers += other.numbers;
  instructions += other.instructions;
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernels[k] += other.kernels[k];
    amount[k] += other.amount[k];
  }
  return *this;
}

Contents::Contents(std::shared_ptr<const hlo::Module> program,
                   std::shared_ptr<const StageKernels> kernels, const SourceKernels* source,
                   Measures measures)
    : program_(std::move(program)), kernels_(std::move(kernels)), measures_(std::move(measures)) {
  Assign(source);
  AssignPeak();
  FindKinds();
  const hlo::CallGraph& calls = hlo::CallGraphOf(*program_);
  of_computation_.resize(program_->computations().size());
  for (ComputationId c : calls.callees_first()) {
    const hlo::Computation& computation = (*program_)[c];
    for (uint32_t k = 0; k < computation.instruction_count; ++k)
      Add(InstructionId(computation.first_instruction + k), of_computation_[c.index]);
  }
  whole_ = of_computation_[program_->entry_id().index];
  for (uint32_t kernel : unassigned_) unassigned_sums_ += SumsOfKernel(kernel);
  unassigned_sums_.peak = unassigned_peak_;
  whole_ += unassigned_sums_;
}

void Contents::Assign(const SourceKernels* source) {
  const auto& all = kernels_->map.kernels;
  owner_.resize(all.size());
  if (source == nullptr) {
    for (size_t k = 0; k < all.size(); ++k) owner_[k] = all[k].instruction;
  } else {
    for (uint32_t k = 0; k < all.size(); ++k) {
      const auto members = source->members.Of(k);
      for (size_t m = members.size(); m-- > 0 && !owner_[k].valid();) {
        if (graph::IsOperation(*program_, members[m])) owner_[k] = members[m];
      }
    }
    AssignByName();
  }
  std::vector<uint32_t> at(all.size(), graph::kNoKernel);
  for (uint32_t k = 0; k < all.size(); ++k) {
    if (owner_[k].valid()) {
      at[k] = owner_[k].index;
    } else {
      unassigned_.push_back(k);
    }
  }
  counted_ = graph::KernelMembers(at, program_->instructions().size());
}

// Of what compilers made the name says where it belongs: at the last operation of that name, else
// of the innermost scope around it that any has.
void Contents::AssignByName() {
  if (std::ranges::all_of(owner_, [](InstructionId id) { return id.valid(); })) return;
  const hlo::Module& compiled = *kernels_->module;
  std::unordered_map<std::string_view, InstructionId> last;
  // By computation and name: inlining puts the names of calls in front.
  const std::vector<std::string> in_front = NamesInFront(*program_);
  std::unordered_map<uint64_t, InstructionId> last_of_name;
  for (uint32_t i = 0; i < program_->instructions().size(); ++i) {
    const InstructionId id(i);
    const auto* metadata =
        program_->Get<hlo::OpMetadata>((*program_)[id], hlo::AttributeKey::kMetadata);
    if (metadata == nullptr || !metadata->op_name.valid() || !graph::IsOperation(*program_, id))
      continue;
    const uint32_t c = (*program_)[id].computation.index;
    const uint64_t front = in_front[c].empty() ? 0 : uint64_t{c} + 1;
    last_of_name[front << 32 | metadata->op_name.index] = id;
  }
  std::deque<std::string> inlined;  // names that `last` refers to
  const auto outer = [](std::string_view name) {
    const size_t slash = name.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  };
  for (const auto& [name, id] : last_of_name) {
    std::string_view scope = hlo::OpNameOf(*program_, id);
    const std::string& front = in_front[(*program_)[id].computation.index];
    // Some frontends write them out.
    if (!scope.starts_with(std::string_view(front).substr(0, front.find('/') + 1)))
      scope = inlined.emplace_back(front + std::string(scope));
    for (; !scope.empty(); scope = outer(scope)) {
      InstructionId& known = last[scope];
      if (!known.valid() || known.index < id.index) known = id;
    }
  }
  for (size_t k = 0; k < owner_.size(); ++k) {
    if (owner_[k].valid()) continue;
    const auto names = hlo::NamesIn(hlo::OpNameOf(compiled, kernels_->map.kernels[k].instruction));
    std::string_view scope = names.empty() ? std::string_view() : names.front();
    // The outermost scope is all of the program.
    for (; !outer(scope).empty() && !owner_[k].valid(); scope = outer(scope)) {
      if (const auto found = last.find(scope); found != last.end()) owner_[k] = found->second;
    }
  }
}

// What a kernel defines counts where the kernel does, an argument at the parameter.
void Contents::AssignPeak() {
  if (measures_.peak == nullptr || measures_.peak->of != kernels_->module) return;
  peak_of_.assign(program_->instructions().size(), 0);
  const hlo::Module& compiled = *kernels_->module;
  const auto there = compiled.Parameters(compiled.entry_id());
  const auto here = program_->Parameters(program_->entry_id());
  std::unordered_map<uint32_t, InstructionId> argument;
  for (size_t k = 0; k < std::min(there.size(), here.size()); ++k)
    argument.emplace(there[k].index, here[k]);
  for (uint32_t i = 0; i < measures_.peak->values.size(); ++i) {
    const double bytes = measures_.peak->values[i];
    if (bytes <= 0) continue;
    InstructionId at;
    if (const uint32_t kernel = kernels_->map.kernel_of[i]; kernel != graph::kNoKernel) {
      at = owner_[kernel];
    } else if (const auto found = argument.find(i); found != argument.end()) {
      at = found->second;
    }
    if (at.valid()) {
      peak_of_[at.index] += bytes;
    } else {
      unassigned_peak_ += bytes;
    }
  }
}

void Contents::FindKinds() {
  for (uint32_t i = 0; i < program_->instructions().size(); ++i) {
    const InstructionId id(i);
    const bool is_more = !CountedAt(id).empty() || PeakOf(id) > 0 ||
                         hlo::HasTrait((*program_)[id].opcode, hlo::kTraitRunsBody);
    kind_.push_back(is_more                             ? Kind::kMore
                    : graph::IsOperation(*program_, id) ? Kind::kOperation
                                                        : Kind::kNothing);
  }
}

// Nearly all of a large program are plain: groups are summed up while they are drawn.
void Contents::Add(InstructionId id, ContentSums& sums) const {
  if (kind_[id.index] == Kind::kMore) {
    sums += Sum(id);
    return;
  }
  sums.operations += kind_[id.index] == Kind::kOperation ? 1 : 0;
  sums.numbers += id.index;
  ++sums.instructions;
}

std::span<const InstructionId> Contents::CountedAt(InstructionId id) const {
  return counted_.Of(id.index);
}

ContentSums Contents::SumsOfKernel(uint32_t kernel) const {
  ContentSums sums;
  const auto lane = static_cast<size_t>(graph::LaneOf(kernels_->map.kernels[kernel].place));
  sums.kernels[lane] = 1;
  const InstructionId itself = kernels_->map.kernels[kernel].instruction;
  sums.amount[lane] = sums.hottest = measures_.heat->Of(itself);
  sums.bytes = measures_.bytes->Of(itself);
  sums.flops = measures_.flops->Of(itself);
  sums.kernel = kernel;
  return sums;
}

ContentSums Contents::Sum(InstructionId id) const {
  ContentSums sums;
  sums.operations = graph::IsOperation(*program_, id) ? 1 : 0;
  sums.numbers = id.index;
  sums.instructions = 1;
  sums.peak = PeakOf(id);
  for (InstructionId kernel : CountedAt(id)) sums += SumsOfKernel(kernel.index);
  if (!hlo::HasTrait((*program_)[id].opcode, hlo::kTraitRunsBody)) return sums;
  const hlo::CallGraph& calls = hlo::CallGraphOf(*program_);
  for (const hlo::Call& call : calls.calls(id)) {
    if (calls.FirstCaller(call.callee) == id) sums += of_computation_[call.callee.index];
  }
  // In its own computation it stands where it stands.
  sums.numbers = id.index;
  sums.instructions = 1;
  return sums;
}

const ContentSums& Contents::Of(const graph::Tree& tree, graph::NodeId id) const {
  const graph::Node& node = tree[id];
  if (node.kind == graph::NodeKind::kInstruction) {
    const auto [at, added] = of_leaf_.try_emplace(id.index);
    if (added) at->second = Sum(node.instruction);
    return at->second;
  }
  return below_.Of(
      tree, id, [this](InstructionId each, ContentSums& sums) { Add(each, sums); },
      [](const ContentSums& inside, ContentSums& sums) { sums += inside; });
}

std::shared_ptr<const Contents> ContentsOf(Context& context, int32_t module, int32_t stage,
                                           const std::shared_ptr<const hlo::Module>& program,
                                           const std::shared_ptr<const StageKernels>& kernels,
                                           const std::shared_ptr<const SourceKernels>& source) {
  Contents::Measures measures{.heat = HeatInView(context),
                              .bytes = HeatFactsOf(context, HeatMeasure::kBytes),
                              .flops = HeatFactsOf(context, HeatMeasure::kFlops),
                              .peak = HeatFactsOf(context, HeatMeasure::kPeak)};
  const bool is_off = MeasureInView(context) == HeatMeasure::kOff;
  const auto is_of_stage = [&](const std::shared_ptr<const HeatFacts>& facts) {
    return facts != nullptr && facts->of == kernels->module;
  };
  if (!is_of_stage(measures.bytes) || !is_of_stage(measures.flops) ||
      (!is_off && measures.heat == nullptr))
    return nullptr;
  // Errors do not add up, and what is not of this stage says nothing about its kernels.
  if (!is_of_stage(measures.heat) || !measures.heat->missing.empty() ||
      measures.heat->measure == HeatMeasure::kError)
    measures.heat = measures.bytes;
  if (!is_of_stage(measures.peak) || !measures.peak->missing.empty()) measures.peak = nullptr;
  const ContentsKey key{module, stage, source != nullptr, measures};
  const Pending<Contents>& made = context.cache.Get(
      key, "summing up scopes", [program, kernels, source, measures](TaskControl&) {
        return Computed<Contents>(
            std::make_shared<Contents>(program, kernels, source.get(), measures));
      });
  return made.ready() ? made.value : nullptr;
}

}  // namespace hloscope::viewer
