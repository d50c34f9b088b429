// Deciding what is computed inside its readers' kernels. A kernel is its root and everything
// computed inside it, which are ancestors of the root: so kernels never depend on each other in a
// cycle, whatever is decided.
#include "core/compile/fusion/fusion_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/compile/fusion/part_rows.h"
#include "core/compile/kernel_rules.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Times in picoseconds. A kernel that is not run, and its result that is not allocated.
constexpr double kLaunch = 300'000;
// A byte moved within the caches, and one beyond them.
constexpr double kCachedByte = 20, kFarByte = 80;
constexpr double kCacheBytes = 16e6;
// The same on a GPU, about, and of what work costs there: it has thousands of lanes. Code that
// stands in a kernel more often than this is large.
constexpr double kGpuLaunch = 1'000'000, kGpuByte = 0.3, kGpuCost = 1.0 / 300;
constexpr size_t kMaxCopies = 4;
// A scalar that more kernels read is computed once.
constexpr double kMaxOfScalar = 8;
// Rearranging more than this is done alone, in blocks.
constexpr double kMaxRearranged = 1e6;

double BytesOf(const Module& module, InstructionId id) {
  return static_cast<double>(module.shape(id).ByteSize().value_or(0));
}

// "12.3 MB".
std::string BytesText(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

// True for a transpose whose neighbouring elements come from far apart.
bool MovesMinorDimension(const Module& module, InstructionId id) {
  if (module[id].opcode != Opcode::kTranspose) return false;
  const auto order = module.GetInts(module[id], AttributeKey::kDimensions);
  for (size_t d = order.size(); d-- > 0;) {
    if (module.shape(id).dimension(d) == 1) continue;
    // The innermost dimension with elements has to be the operand's innermost, too.
    const Shape& from = module.shape(module.operands(id)[0]);
    for (size_t k = from.rank(); k-- > 0;) {
      if (from.dimension(k) != 1) return std::cmp_not_equal(order[d], k);
    }
  }
  return false;
}

bool IsScattered(const Module& module, InstructionId id) {
  return module[id].opcode == Opcode::kGather || MovesMinorDimension(module, id);
}

}  // namespace

FusionGraph::FusionGraph(const Module& module, hlo::ComputationId computation, bool for_gpu,
                         std::vector<FusionDecision>& decisions)
    : module_(module),
      first_(module[computation].first_instruction),
      root_(module[computation].root),
      nodes_(module[computation].instruction_count),
      pinned_(nodes_.size(), false),
      for_gpu_(for_gpu),
      decisions_(decisions) {
  for (Position p = 0; p < nodes_.size(); ++p) {
    const hlo::Attribute* before = module_.Find(id(p), AttributeKey::kControlPredecessors);
    if (before == nullptr) continue;
    pinned_[p] = true;
    for (const uint32_t other : module_.IdsOf(*before)) {
      if (other - first_ < pinned_.size()) pinned_[other - first_] = true;
    }
  }
  nodes_[position(root_)].is_read_outside = true;
  nodes_[position(root_)].outside_user = "the result";
  for (Position p = static_cast<Position>(nodes_.size()); p-- > 0;) Decide(p);
}

bool FusionGraph::CanBeRoot(Position p) const {
  const Opcode opcode = module_[id(p)].opcode;
  return !pinned_[p] && !HasTrait(opcode, hlo::kTraitNoCode) && IsKernelRoot(module_, id(p));
}

// Small ones are unrolled.
bool FusionGraph::HasManyParts(Position p) const {
  constexpr double kMaxSmall = kMaxUnrolled / 4;
  return module_[id(p)].opcode == Opcode::kConcatenate &&
         module_.operands(id(p)).size() > kMaxPartsInLoop &&
         (for_gpu_ || module_.operands(id(p)).size() > LimitsOf(for_gpu_).operands ||
          ElementCount(module_.shape(id(p))) > kMaxSmall);
}

std::vector<KernelReads> FusionGraph::KernelsOf(Position p) const {
  std::vector<Reader> readers = nodes_[p].readers;
  std::ranges::stable_sort(readers, {}, &Reader::kernel);
  std::vector<KernelReads> kernels;
  for (const Reader& reader : readers) {
    if (kernels.empty() || kernels.back().kernel != reader.kernel) {
      kernels.push_back({reader.kernel, ValueOf(p, 0, 0)});
    }
    ++kernels.back().value.maps;
    kernels.back().value.count += reader.reads.count;
  }
  return kernels;
}

KernelWork::Value FusionGraph::ValueOf(Position p, size_t maps, double count) const {
  const Opcode opcode = module_[id(p)].opcode;
  return {ElementCount(module_.shape(id(p))), CostOf(opcode), maps, count,
          opcode == Opcode::kConcatenate};
}

void FusionGraph::Decide(Position p) {
  Node& node = nodes_[p];
  const Opcode opcode = module_[id(p)].opcode;
  if (opcode == Opcode::kConstant && IsElemental(module_, id(p))) {
    node.role = Role::kInCode;
    return;
  }
  const bool is_elemental = opcode != Opcode::kParameter && opcode != Opcode::kConstant &&
                            !pinned_[p] && IsElemental(module_, id(p));
  if (is_elemental && !node.readers.empty()) {
    const std::vector<KernelReads> kernels = KernelsOf(p);
    const Verdict verdict = Judge(p, kernels);
    for (size_t k = 0; k < std::min<size_t>(kernels.size(), 8); ++k) {
      decisions_.push_back({id(p), id(kernels[k].kernel), verdict.is_fused, verdict.reason});
    }
    if (verdict.is_fused) return MakeInside(p, kernels);
  }
  // Reshapes move nothing, and large transposes go in blocks.
  const bool is_copied_better = opcode == Opcode::kReshape || opcode == Opcode::kBitcast ||
                                (HasManyParts(p) && (for_gpu_ || HasPartInCode(p))) ||
                                (!for_gpu_ && MovesMinorDimension(module_, id(p)) &&
                                 BytesOf(module_, id(p)) > kMaxRearranged);
  if (CanBeRoot(p) && !is_copied_better) return MakeRoot(p);
  MakeOutside(p);
}

// What forbids to compute `p` inside `kernels`, empty where nothing does.
std::string FusionGraph::Obstacle(Position p, const std::vector<KernelReads>& kernels) const {
  const Node& node = nodes_[p];
  if (node.is_read_outside) return fmt::format("{} needs all of it", node.outside_user);
  const auto operands = module_.operands(id(p));
  const uint32_t size = CodeSizeOf(module_[id(p)].opcode, for_gpu_);
  for (const auto& [kernel, value] : kernels) {
    const Node& root = nodes_[kernel];
    if (HasManyParts(kernel)) {
      if (copied_.contains(uint64_t{p} << 32 | kernel)) continue;
      return fmt::format("{} copies its parts", module_.name(id(kernel)));
    }
    if (size > 0 && root.size + size > LimitsOf(for_gpu_).instructions) {
      return fmt::format("{} is as large as a kernel may be", module_.name(id(kernel)));
    }
    if (root.operands + operands.size() > LimitsOf(for_gpu_).operands + 1) {
      return fmt::format("{} reads {}", module_.name(id(kernel)), Counted(root.operands, "value"));
    }
    if (!for_gpu_ && !root.work.FitsUnrolled(value) && HasManyParts(p)) {
      return fmt::format("it has {}", Counted(operands.size(), "part"));
    }
    if (!root.work.FitsLoop(value) && !root.work.FitsUnrolled(value)) {
      return fmt::format("{} would compute {:.6g} elements of it, at {}", module_.name(id(kernel)),
                         value.count, Counted(value.maps, "index", "indices"));
    }
    const std::string update = ObstacleOfUpdate(p, id(kernel));
    if (!update.empty()) return update;
  }
  return {};
}

// Nothing in a kernel reads what it updates, and its other operands are arrays of elements.
std::string FusionGraph::ObstacleOfUpdate(Position p, InstructionId root) const {
  const auto of_root = module_.operands(root), operands = module_.operands(id(p));
  const size_t count = UpdatedOperands(module_, root);
  for (const InstructionId updated : of_root.first(count)) {
    if (std::ranges::count(of_root, updated) > 1 || updated == id(p) ||
        std::ranges::find(operands, updated) != operands.end()) {
      return fmt::format("{} is updated in place and read here", module_.name(updated));
    }
  }
  for (const InstructionId operand : of_root.subspan(count)) {
    if (count > 0 && !IsWholeArray(module_.shape(operand))) {
      return fmt::format("{} has no elements", module_.name(operand));
    }
  }
  return {};
}

FusionGraph::Verdict FusionGraph::Judge(Position p, const std::vector<KernelReads>& kernels) const {
  const std::string obstacle = Obstacle(p, kernels);
  if (!obstacle.empty()) return {false, obstacle};
  const InstructionId self = id(p);
  const double elements = ElementCount(module_.shape(self)), bytes = BytesOf(module_, self);
  const double cost = CostOf(module_[self].opcode);
  const auto users = static_cast<double>(kernels.size());
  double count = 0;
  for (const auto& [kernel, value] : kernels) {
    count += nodes_[kernel].work.ComputesOnce(value) ? value.Demanded() : value.count;
  }
  const double again = std::max(0.0, count - elements);
  const std::string recomputed = fmt::format("{}, {:.6g} elements computed instead of {:.6g}",
                                             Counted(kernels.size(), "user"), count, elements);
  if (cost == 0) return {true, "costs nothing"};
  if (elements > 1 && cost >= kExpensiveOpCost && again > 0.05 * elements)
    return {false, recomputed};
  const auto scatters = [&](const KernelReads& reads) {
    return module_[id(reads.kernel)].opcode == Opcode::kScatter;
  };
  if (elements > 1 && cost >= kExpensiveOpCost && std::ranges::any_of(kernels, scatters)) {
    return {false, "each thread would compute all of it"};
  }
  if (IsScattered(module_, self) && bytes > kMaxRearranged && !IsRearrangedInside(p, kernels)) {
    return {false, fmt::format("rearranges {}", BytesText(bytes))};
  }
  if (elements == 1 && users > kMaxOfScalar) {
    return {false, fmt::format("{} of a scalar", Counted(kernels.size(), "user"))};
  }
  // Further kernels that read what it reads.
  double read_more = 0;
  for (const InstructionId operand : module_.operands(self)) {
    if (nodes_[position(operand)].role == Role::kInCode) continue;
    if (CostOf(module_[operand].opcode) == 0) continue;
    read_more += BytesOf(module_, operand) * (users - 1);
  }
  const double saved = bytes * (users + 1) - read_more;
  const bool as_gpu = for_gpu_ && nodes_[p].readers.size() <= kMaxCopies * kernels.size() &&
                      std::ranges::none_of(kernels, scatters);
  const double byte_time = as_gpu ? kGpuByte : bytes > kCacheBytes ? kFarByte : kCachedByte;
  const double gain =
      (as_gpu ? kGpuLaunch : kLaunch) + saved * byte_time - again * cost * (as_gpu ? kGpuCost : 1);
  if (gain < 0) {
    return {false,
            fmt::format("{}, for {} moved less", recomputed, BytesText(std::max(0.0, saved)))};
  }
  if (again == 0) return {true, fmt::format("{} moved less", BytesText(std::max(0.0, saved)))};
  return {true, fmt::format("{} moved less, {}", BytesText(std::max(0.0, saved)), recomputed)};
}

bool FusionGraph::IsRearrangedInside(Position p, const std::vector<KernelReads>& kernels) const {
  // More instructions would not be gone through by squares.
  constexpr uint32_t kMaxOfSquares = 50;
  const Position kernel = kernels[0].kernel;
  return for_gpu_ && kernels.size() == 1 && nodes_[kernel].size <= kMaxOfSquares &&
         IsElemental(module_, id(kernel)) &&
         ElementCount(module_.shape(id(kernel))) == ElementCount(module_.shape(id(p)));
}

void FusionGraph::MakeOutside(Position p) {
  nodes_[p].role = Role::kOutside;
  for (const InstructionId operand : module_.operands(id(p))) {
    Node& node = nodes_[position(operand)];
    node.is_read_outside = true;
    node.outside_user = module_.name(id(p));
  }
}

// What the rows of one part are taken from stays outside, though those of others go through it.
void FusionGraph::NoteCopied(Position concatenate) {
  const auto key = [&](InstructionId each) { return uint64_t{position(each)} << 32 | concatenate; };
  const auto operands = module_.operands(id(concatenate));
  std::vector<InstructionId> arrays;
  for (size_t part = 0; part < operands.size(); ++part) {
    const auto rows = PartRowsOf(module_, id(concatenate), part);
    arrays.push_back(rows ? rows->array : operands[part]);
    if (!rows) continue;
    for (const InstructionId each : rows->through) copied_.insert(key(each));
  }
  for (const InstructionId array : arrays) copied_.erase(key(array));
}

// Constants in its code have no memory to copy from.
bool FusionGraph::HasPartInCode(Position concatenate) const {
  const auto operands = module_.operands(id(concatenate));
  for (size_t part = 0; part < operands.size(); ++part) {
    const auto rows = PartRowsOf(module_, id(concatenate), part);
    const InstructionId array = rows ? rows->array : operands[part];
    if (module_[array].opcode == Opcode::kConstant && IsElemental(module_, array)) return true;
  }
  return false;
}

void FusionGraph::MakeRoot(Position p) {
  const Reads reads{.map = 0, .count = LoopCount(module_, id(p))};
  nodes_[p].role = Role::kRoot;
  if (HasManyParts(p)) NoteCopied(p);
  nodes_[p].work =
      KernelWork(IsElemental(module_, id(p)), for_gpu_, ElementCount(module_.shape(id(p))));
  KernelWork::Value value = ValueOf(p, 1, reads.count);
  value.elements = reads.count;  // of a reduction those that it goes through
  nodes_[p].work.Add(value);
  ReadOperands(p, p, reads);
}

void FusionGraph::MakeInside(Position p, const std::vector<KernelReads>& kernels) {
  nodes_[p].role = Role::kInside;
  for (const auto& [kernel, value] : kernels) {
    nodes_[kernel].size += CodeSizeOf(module_[id(p)].opcode, for_gpu_);
    --nodes_[kernel].operands;
    nodes_[kernel].work.Add(value);
    if (value.maps > kMaxMaps) ReadOperands(p, kernel, ReadsOfAll(id(p), value.Demanded()));
  }
  const auto is_unrolled = [&](const Reader& reader) {
    return std::ranges::lower_bound(kernels, reader.kernel, {}, &KernelReads::kernel)->value.maps >
           kMaxMaps;
  };
  // By index: an instruction may read itself never, but its operands' lists grow.
  for (size_t k = 0; k < nodes_[p].readers.size(); ++k) {
    const Reader reader = nodes_[p].readers[k];
    if (!is_unrolled(reader)) ReadOperands(p, reader.kernel, reader.reads);
  }
}

void FusionGraph::ReadOperands(Position p, Position kernel, const Reads& reads) {
  const auto operands = module_.operands(id(p));
  for (size_t slot = 0; slot < operands.size(); ++slot) {
    AddReader(position(operands[slot]), kernel, OperandReads(module_, id(p), slot, reads));
  }
}

void FusionGraph::AddReader(Position p, Position kernel, const Reads& reads) {
  Node& node = nodes_[p];
  if (module_[id(p)].opcode == Opcode::kConstant && IsElemental(module_, id(p))) return;
  const uint64_t of_kernel = uint64_t{p} << 32 | kernel;
  if (read_.insert(of_kernel).second) ++nodes_[kernel].operands;
  const auto [found, is_new] =
      reader_index_.try_emplace({of_kernel, reads.map}, static_cast<uint32_t>(node.readers.size()));
  if (!is_new) {
    double& count = node.readers[found->second].reads.count;
    count = std::max(count, reads.count);
    return;
  }
  node.readers.push_back({kernel, reads});
}

}  // namespace hloscope::compile
