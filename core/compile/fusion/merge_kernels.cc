// Merging kernels. What depends on a kernel has a higher level than it; kernels of one level do
// not depend on each other, and a kernel may join a reader of it if all else that reads it has a
// higher level than that reader. Either way every edge still leads to a higher level: no cycles.
#include "core/compile/fusion/merge_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/compile/dot_form.h"
#include "core/compile/fusion/row_form.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/library_rules.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// Loops of up to this many elements join others that read nothing in common: a run is saved.
constexpr double kSmallLoop = 4096, kSmallGpuLoop = 1 << 20;
// The same of loops of a GPU that are not of the same dimensions.
constexpr double kHorizontalLoop = 1 << 17;
constexpr int kRounds = 2;
constexpr int64_t kMinRow = 32;  // on a processor

// A kernel, or an instruction that is none.
struct Unit {
  std::vector<Position> roots = {}, members = {};  // ascending; the roots are not among the members
  std::vector<Position> inputs = {};               // values read from outside, ascending
  uint32_t level = 0;
  bool is_merged_away = false;
  KernelWork work = {};
};

class Merger {
 public:
  Merger(const FusionGraph& graph, bool for_gpu, std::vector<FusionDecision>& decisions)
      : graph_(graph),
        module_(graph.module()),
        unit_of_(graph.size()),
        units_(graph.size()),
        decisions_(decisions),
        for_gpu_(for_gpu),
        least_row_(for_gpu ? 2 : kMinRow) {
    MakeUnits();
  }

  std::vector<KernelGroup> Run() {
    for (int round = 0; round < kRounds; ++round) {
      FindLevels();
      MergeSiblings();
      MergeIntoReaders();
    }
    // Twice, for the level of a reader rises with what joins it.
    for (int round = 0; round < kRounds; ++round) {
      FindLevels();
      MergeRows();
    }
    if (for_gpu_) {
      MergeDots();
      FindLevels();
      FuseHorizontally();
    }
    return Groups();
  }

 private:
  // What merged kernels must have in common.
  struct Loop {
    bool is_reduce = false;
    std::vector<int64_t> dimensions = {}, reduced = {};
    auto operator<=>(const Loop&) const = default;
  };

  InstructionId id(Position p) const { return graph_.id(p); }
  bool IsKernel(Position unit) const {
    return !units_[unit].is_merged_away && graph_[unit].role == Role::kRoot;
  }

  // One unit for each kernel and each instruction outside, at its position.
  void MakeUnits() {
    for (Position p = 0; p < graph_.size(); ++p) {
      unit_of_[p] = p;
      const Role role = graph_[p].role;
      if (role == Role::kRoot || role == Role::kOutside) units_[p].roots = {p};
      if (role == Role::kInside) units_[p].is_merged_away = true;
      units_[p].work = graph_[p].work;
      Position last = static_cast<Position>(-1);
      std::vector<Position> kernels;
      for (const Reader& reader : graph_[p].readers) kernels.push_back(reader.kernel);
      std::ranges::sort(kernels);
      for (const Position kernel : kernels) {
        if (kernel == last) continue;
        last = kernel;
        (role == Role::kInside ? units_[kernel].members : units_[kernel].inputs).push_back(p);
      }
      if (role == Role::kOutside) AddOutsideInputs(p);
    }
  }

  // Operands, and what has to run before.
  void AddOutsideInputs(Position p) {
    std::vector<Position>& inputs = units_[p].inputs;
    for (const InstructionId operand : module_.operands(id(p))) {
      inputs.push_back(graph_.position(operand));
    }
    if (const auto* before = module_.Find(id(p), AttributeKey::kControlPredecessors)) {
      for (const uint32_t other : module_.IdsOf(*before)) {
        const Position position = graph_.position(InstructionId(other));
        if (position < graph_.size()) inputs.push_back(position);
      }
    }
    std::ranges::sort(inputs);
    inputs.erase(std::ranges::unique(inputs).begin(), inputs.end());
  }

  // Levels so far say an order in which inputs come first; the first time, positions do.
  void FindLevels() {
    std::vector<Position> order;
    for (Position p = 0; p < units_.size(); ++p) {
      if (!units_[p].is_merged_away) order.push_back(p);
    }
    std::ranges::stable_sort(order, {}, [&](Position p) { return units_[p].level; });
    for (const Position p : order) {
      uint32_t level = 0;
      for (const Position input : units_[p].inputs) {
        level = std::max(level, units_[unit_of_[input]].level + 1);
      }
      units_[p].level = level;
    }
  }

  Loop LoopOf(Position root) const {
    const Opcode opcode = module_[id(root)].opcode;
    const bool is_reduce = opcode == Opcode::kReduce;
    const auto sizes =
        module_.shape(is_reduce ? module_.operands(id(root))[0] : id(root)).dimensions();
    Loop loop{.is_reduce = is_reduce, .dimensions = {sizes.begin(), sizes.end()}};
    if (is_reduce) {
      const auto reduced = module_.GetInts(module_[id(root)], AttributeKey::kDimensions);
      loop.reduced.assign(reduced.begin(), reduced.end());
    }
    return loop;
  }

  // Updates in place, copies of many parts and several reduces in one instruction stay alone.
  bool MayMerge(Position unit) const {
    return IsKernel(unit) && module_.shape(id(unit)).IsArray() &&
           UpdatedOperands(module_, id(unit)) == 0 && !graph_.HasManyParts(unit);
  }

  static double Count(const Loop& loop) {
    return std::accumulate(loop.dimensions.begin(), loop.dimensions.end(), 1.0,
                           [](double a, int64_t b) { return a * static_cast<double>(b); });
  }

  static std::vector<Position> Union(const std::vector<Position>& a,
                                     const std::vector<Position>& b) {
    std::vector<Position> both;
    std::ranges::set_union(a, b, std::back_inserter(both));
    return both;
  }

  // The two as one; `keep` has their level.
  Unit Together(Position keep, Position gone) const {
    const Unit &a = units_[keep], &b = units_[gone];
    Unit unit{.roots = Union(a.roots, b.roots), .level = a.level};
    const auto is_root = [&](Position p) { return std::ranges::binary_search(unit.roots, p); };
    unit.members = Union(a.members, b.members);
    std::erase_if(unit.members, is_root);
    unit.inputs = Union(a.inputs, b.inputs);
    std::erase_if(unit.inputs, is_root);
    unit.work = a.work;
    unit.work.Add(b.work);
    return unit;
  }

  bool FitsLimits(const Unit& unit) const {
    if (unit.work.must_unroll() && !unit.work.FitsUnrolled()) return false;
    const KernelLimits& limits = LimitsOf(for_gpu_);
    size_t size = unit.roots.size();
    for (const Position p : unit.members) size += CodeSizeOf(module_[id(p)].opcode, for_gpu_);
    return size <= limits.instructions && unit.inputs.size() <= limits.operands &&
           unit.roots.size() <= limits.results;
  }

  bool TryMerge(Position keep, Position gone, std::string reason) {
    Unit unit = Together(keep, gone);
    if (!FitsLimits(unit)) return false;
    decisions_.push_back({id(gone), id(keep), true, std::move(reason)});
    units_[keep] = std::move(unit);
    units_[gone].is_merged_away = true;
    for (const Position root : units_[keep].roots) unit_of_[root] = keep;
    return true;
  }

  // True if the kernel reads the value at the index of its loop.
  bool ReadsInStep(Position kernel, Position value) const {
    return std::ranges::any_of(graph_[value].readers, [&](const Reader& reader) {
      return unit_of_[reader.kernel] == kernel && reader.reads.map == 0;
    });
  }
  bool ReadsOnlyInStep(Position kernel, Position value) const {
    return std::ranges::all_of(graph_[value].readers, [&](const Reader& reader) {
      return unit_of_[reader.kernel] != kernel || reader.reads.map == 0;
    });
  }

  void MergeSiblings() {
    std::map<std::pair<uint32_t, Loop>, std::vector<Position>> buckets;
    for (Position p = 0; p < units_.size(); ++p) {
      if (MayMerge(p)) buckets[{units_[p].level, LoopOf(p)}].push_back(p);
    }
    // In the order of the map: the same on every run.
    for (const auto& [key, kernels] : buckets) {
      if (kernels.size() > 1) MergeBucket(kernels, Count(key.second));
    }
  }

  void MergeBucket(const std::vector<Position>& kernels, double loop) {
    std::map<Position, Position> last_reader;  // by value read in step with the loop
    Position last = kernels[0];
    for (const Position kernel : kernels) {
      Position joined = kernel;
      for (const Position input : units_[kernel].inputs) {
        if (ElementCount(module_.shape(id(input))) < loop || !ReadsInStep(kernel, input)) continue;
        const auto reader = last_reader.find(input);
        if (reader == last_reader.end()) continue;
        if (TryMerge(reader->second, kernel,
                     fmt::format("both read {}", module_.name(id(input))))) {
          joined = reader->second;
          break;
        }
      }
      if (joined == kernel && last != kernel && loop <= (for_gpu_ ? kSmallGpuLoop : kSmallLoop) &&
          !units_[last].is_merged_away &&
          TryMerge(last, kernel, fmt::format("two loops of {:.0f} elements", loop))) {
        joined = last;
      }
      for (const Position input : units_[joined].inputs) {
        if (ReadsInStep(joined, input)) last_reader[input] = joined;
      }
      last = joined;
    }
  }

  // By unit: the lowest level of what reads it, but `reader`.
  uint32_t LowestOtherReader(Position unit, Position reader,
                             const std::vector<std::vector<Position>>& readers) const {
    uint32_t lowest = UINT32_MAX;
    for (const Position root : units_[unit].roots) {
      for (const Position other : readers[root]) {
        const Position now = unit_of_[other];
        if (now != reader && now != unit) lowest = std::min(lowest, units_[now].level);
      }
    }
    return lowest;
  }

  void MergeIntoReaders() {
    const std::vector<std::vector<Position>> readers = ReadersOf();
    for (Position reader = 0; reader < units_.size(); ++reader) {
      if (!MayMerge(reader)) continue;
      const Loop loop = LoopOf(reader);
      if (loop.is_reduce) continue;
      const std::vector<Position> inputs = units_[reader].inputs;
      for (const Position input : inputs) {
        const Position made_by = unit_of_[input];
        if (made_by == reader || !MayMerge(made_by) || LoopOf(made_by) != loop) continue;
        const bool in_step = std::ranges::all_of(
            units_[made_by].roots, [&](Position root) { return ReadsOnlyInStep(reader, root); });
        if (!in_step || LowestOtherReader(made_by, reader, readers) <= units_[reader].level) {
          continue;
        }
        TryMerge(reader, made_by, fmt::format("{} is in registers", module_.name(id(input))));
      }
    }
  }

  // ---- Rows: a reduce and what depends on it, while the row is in the cache.

  void MergeRows() {
    std::vector<std::vector<Position>> readers = ReadersOf();
    std::vector<Position> order;
    for (Position p = 0; p < units_.size(); ++p) {
      if (IsKernel(p)) order.push_back(p);
    }
    std::ranges::stable_sort(order, {}, [&](Position p) { return units_[p].level; });
    for (const Position reader : order) {
      // What joins brings inputs of its own.
      for (bool is_open = MayMerge(reader); is_open;) {
        is_open = false;
        const std::vector<Position> inputs = units_[reader].inputs;
        for (const Position input : inputs) {
          if (!TryMergeRows(reader, unit_of_[input], readers)) continue;
          is_open = true;
          break;
        }
      }
    }
  }

  bool TryMergeRows(Position reader, Position made_by,
                    std::vector<std::vector<Position>>& readers) {
    if (made_by == reader || !MayMerge(made_by) ||
        LowestOtherReader(made_by, reader, readers) <= units_[reader].level) {
      return false;
    }
    const Unit together = Together(reader, made_by);
    const auto form = RowsOf(together);
    if (!form.has_value()) return false;
    const double elements = static_cast<double>(form->rows * form->row_size);
    const auto is_row = [&](Position p) { return ElementCount(module_.shape(id(p))) >= elements; };
    const Unit &a = units_[reader], &b = units_[made_by];
    const bool in_step = std::ranges::all_of(
        b.roots, [&](Position root) { return !is_row(root) || ReadsOnlyInStep(reader, root); });
    std::vector<Position> both;
    std::ranges::set_intersection(a.inputs, b.inputs, std::back_inserter(both));
    const bool saves = std::ranges::any_of(both, is_row) || std::ranges::any_of(b.roots, is_row) ||
                       std::ranges::none_of(b.inputs, is_row) ||
                       std::ranges::none_of(Union(a.roots, a.inputs), is_row);
    if (!in_step || !saves || !TryMerge(reader, made_by, "of the same row")) return false;
    DropRoots(reader, readers);
    return true;
  }

  // ---- Dots of a GPU: what is computed of each of their elements needs no kernel of its own.

  void MergeDots() {
    const std::vector<std::vector<Position>> readers = ReadersOf();
    for (Position dot = 0; dot < units_.size(); ++dot) {
      if (!IsDotOfTiles(dot) || readers[dot].empty()) continue;
      const Position reader = unit_of_[readers[dot][0]];
      const bool is_only = std::ranges::all_of(
          readers[dot], [&](Position other) { return unit_of_[other] == reader; });
      if (!is_only || !IsOfElements(reader, dot) || !ReadsOnlyInStep(reader, dot)) continue;
      if (!TryMerge(reader, dot, fmt::format("{} is in registers", module_.name(id(dot)))))
        continue;
      DropRoots(reader, readers);
    }
  }

  // As XLA's horizontal loop fusion: small loops of one level, whatever their dimensions, for a
  // launch takes longer than they do.
  void FuseHorizontally() {
    std::map<uint32_t, Position> last;  // by level
    for (Position p = 0; p < units_.size(); ++p) {
      if (!IsSmallLoop(p)) continue;
      const auto [found, is_first] = last.try_emplace(units_[p].level, p);
      if (!is_first && !TryMerge(found->second, p, "small loops of one level")) found->second = p;
    }
  }
  bool IsSmallLoop(Position unit) const {
    const auto is_small = [&](Position root) {
      return ElementCount(module_.shape(id(root))) <= kHorizontalLoop;
    };
    const auto is_elemental = [&](Position p) { return IsElemental(module_, id(p)); };
    return MayMerge(unit) && std::ranges::all_of(units_[unit].roots, is_small) &&
           std::ranges::all_of(units_[unit].roots, is_elemental) &&
           std::ranges::all_of(units_[unit].members, is_elemental);
  }

  // A dot that is a kernel of its own, whose rows and columns fill tiles, and no library's.
  bool IsDotOfTiles(Position p) const {
    if (units_[p].is_merged_away || graph_[p].role == Role::kInside ||
        module_[id(p)].opcode != Opcode::kDot || graph_[p].is_read_outside ||
        units_[p].roots.size() != 1 || !units_[p].members.empty() ||
        !compile::IsKernel(module_, id(p)) || ProductsOf(module_, id(p)) >= kMinGpuProducts) {
      return false;
    }
    const auto in_code = [&](InstructionId operand) {
      return graph_[graph_.position(operand)].role == Role::kInCode;
    };
    const auto form = DotFormOf(module_, id(p));
    return form.has_value() && FillsTiles(*form) &&
           std::ranges::none_of(module_.operands(id(p)), in_code);
  }

  // A kernel of elements of arrays that have the dot's dimensions, without a dot so far.
  bool IsOfElements(Position unit, Position dot) const {
    if (!MayMerge(unit)) return false;
    const auto is_elemental = [&](Position p) { return IsElemental(module_, id(p)); };
    return std::ranges::all_of(units_[unit].members, is_elemental) &&
           std::ranges::all_of(units_[unit].roots, [&](Position root) {
             return is_elemental(root) && std::ranges::equal(module_.shape(id(root)).dimensions(),
                                                             module_.shape(id(dot)).dimensions());
           });
  }

  std::optional<RowForm> RowsOf(const Unit& unit) const {
    std::vector<Position> all = Union(unit.roots, unit.members);
    std::vector<InstructionId> instructions, roots;
    for (const Position p : all) instructions.push_back(id(p));
    for (const Position p : unit.roots) roots.push_back(id(p));
    auto form = RowFormOf(module_, instructions, roots);
    if (form.has_value() && form->row_size < least_row_) return {};
    return form;
  }

  // What nothing outside of the unit reads is not written.
  void DropRoots(Position unit, const std::vector<std::vector<Position>>& readers) {
    Unit& it = units_[unit];
    std::vector<Position> inside;
    std::erase_if(it.roots, [&](Position root) {
      const bool is_read =
          graph_[root].is_read_outside || std::ranges::any_of(readers[root], [&](Position other) {
            return unit_of_[other] != unit && !units_[unit_of_[other]].is_merged_away;
          });
      if (!is_read) inside.push_back(root);
      return !is_read;
    });
    it.members = Union(it.members, inside);
  }

  std::vector<std::vector<Position>> ReadersOf() const {
    std::vector<std::vector<Position>> readers(units_.size());  // by value: units
    for (Position p = 0; p < units_.size(); ++p) {
      if (units_[p].is_merged_away) continue;
      for (const Position input : units_[p].inputs) readers[input].push_back(p);
    }
    return readers;
  }

  std::vector<KernelGroup> Groups() const {
    std::vector<KernelGroup> groups;
    for (Position p = 0; p < units_.size(); ++p) {
      if (!IsKernel(p)) continue;
      KernelGroup group;
      for (const Position root : units_[p].roots) group.roots.push_back(id(root));
      for (const Position member : units_[p].members) group.members.push_back(id(member));
      groups.push_back(std::move(group));
    }
    return groups;
  }

  const FusionGraph& graph_;
  const Module& module_;
  std::vector<Position> unit_of_;  // by value: the unit that yields it
  std::vector<Unit> units_;        // by position
  std::vector<FusionDecision>& decisions_;
  bool for_gpu_;
  int64_t least_row_;
};

}  // namespace

std::vector<KernelGroup> MergeKernels(const FusionGraph& graph, bool for_gpu,
                                      std::vector<FusionDecision>& decisions) {
  return Merger(graph, for_gpu, decisions).Run();
}

}  // namespace hloscope::compile
