// Manual regions (shard_map) of modules that have yet to be partitioned, where plans of several
// devices meet: a device takes its own part by its number, and gets the whole by an all-gather.
// What lies outside is the same on every device. One device alone has all of it.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/compile/passes/collectives.h"
#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;
using hlo::Tiling;

namespace {

using Ints = std::vector<int64_t>;

// One operand of a border.
class ShardBoundary {
 public:
  ShardBoundary(Edit& edit, InstructionId id, const hlo::DeviceCounts& counts, const Shape& whole,
                const Shape& part, const Tiling& tiling)
      : edit_(edit),
        id_(id),
        counts_(counts),
        tiling_(tiling),
        groups_(hlo::ManualGroups(edit.original(), id, counts.partitions)),
        type_(whole.element_type()),
        whole_(SizesOf(whole)),
        part_(SizesOf(part)),
        padded_(part_) {
    for (size_t d = 0; d < padded_.size(); ++d) padded_[d] *= tiling.tiles[d];
  }

  // The part of this device, zeros where it reaches beyond the whole.
  InstructionId FullToShard(InstructionId value) {
    if (tiling_.IsReplicated()) return value;
    if (padded_ != whole_) {
      Ints padding;
      for (size_t d = 0; d < whole_.size(); ++d) {
        padding.insert(padding.end(), {0, padded_[d] - whole_[d], 0});
      }
      value =
          Add("padded", Opcode::kPad, padded_, {value, ZeroBytes(edit_, id_, Shape::Scalar(type_))},
              {builder().MakeInts(AttributeKey::kPadding, padding)});
    }
    std::vector<InstructionId> operands = {value};
    for (size_t d = 0; d < whole_.size(); ++d) operands.push_back(Start(d));
    return Add("part", Opcode::kDynamicSlice, part_, operands,
               {builder().MakeInts(AttributeKey::kDynamicSliceSizes, part_)});
  }

  // The whole of the first holder of each part; zeros where there is none. Invalid where groups do
  // not hold their parts alike.
  InstructionId ShardToFull(InstructionId own) {
    if (tiling_.IsReplicated()) return counts_.partitions == 1 ? own : OfTheFirst(own);
    const Ints holders = Holders(groups_[0]);
    hlo::DeviceList devices;
    for (int64_t replica = 0; replica < counts_.replicas; ++replica) {
      for (Ints group : groups_) {
        if (Holders(group) != holders || group.size() != groups_[0].size()) return {};
        for (int64_t& member : group) member += replica * counts_.partitions;
        devices.groups.push_back(std::move(group));
      }
    }
    const InstructionId all =
        GatheredByAll(edit_, id_, own, groups_[0].size(),
                      {builder().Make(AttributeKey::kReplicaGroups, std::move(devices)),
                       builder().MakeInt(AttributeKey::kChannelId, 1),
                       builder().MakeBool(AttributeKey::kUseGlobalDeviceIds, true)});
    return Sliced("whole", Joined(Parts(all, holders)), Ints(whole_.size(), 0), whole_);
  }

 private:
  hlo::ModuleBuilder& builder() { return edit_.rewriter().builder(); }
  InstructionId Add(std::string_view name, Opcode opcode, const Ints& sizes,
                    std::span<const InstructionId> operands, std::vector<Attribute> attributes) {
    return edit_.Add(id_, name, opcode, PlainArray(type_, sizes), operands, std::move(attributes));
  }
  InstructionId Add(std::string_view name, Opcode opcode, const Ints& sizes,
                    std::initializer_list<InstructionId> operands,
                    std::vector<Attribute> attributes = {}) {
    return Add(name, opcode, sizes, std::span(operands), std::move(attributes));
  }
  // Itself where that is all of it.
  InstructionId Sliced(std::string_view name, InstructionId value, const Ints& starts,
                       const Ints& limits) {
    Ints sizes, slice;
    for (size_t d = 0; d < limits.size(); ++d) {
      sizes.push_back(limits[d] - starts[d]);
      slice.insert(slice.end(), {starts[d], limits[d], 1});
    }
    if (sizes == SizesOf(edit_.shape(value))) return value;
    return Add(name, Opcode::kSlice, sizes, {value},
               {builder().MakeInts(AttributeKey::kSlice, slice)});
  }

  // Where this device's part begins along a dimension, a scalar.
  InstructionId Start(size_t d) {
    constexpr ElementType kNumber = ElementType::kS64;
    std::vector<int64_t> starts;
    for (const int64_t tile : tiling_.tile_of) {
      int64_t rest = std::max<int64_t>(tile, 0);
      for (size_t k = whole_.size(); --k > d;) rest /= tiling_.tiles[k];
      starts.push_back(rest % tiling_.tiles[d] * part_[d]);
    }
    const auto constant = [&](const Shape& shape, std::span<const int64_t> numbers) {
      return edit_.Add(id_, "start", Opcode::kConstant, shape, {},
                       {builder().Make(AttributeKey::kConstantValue,
                                       hlo::Literal::Of<int64_t>(shape, numbers))});
    };
    if (tiling_.tiles[d] == 1) return constant(Shape::Scalar(kNumber), Ints{0});
    const InstructionId partition =
        edit_.Add(id_, "partition", Opcode::kPartitionId, Shape::Scalar(ElementType::kU32), {});
    const InstructionId all = constant(PlainArray(kNumber, Ints{counts_.partitions}), starts);
    const InstructionId own = edit_.Add(
        id_, "start", Opcode::kDynamicSlice, PlainArray(kNumber, Ints{1}), {all, partition},
        {builder().MakeInts(AttributeKey::kDynamicSliceSizes, Ints{1})});
    return edit_.Add(id_, "start", Opcode::kReshape, Shape::Scalar(kNumber), {own});
  }

  // By part: the first member of the group that holds it, -1: none.
  Ints Holders(const Ints& group) const {
    int64_t count = 1;
    for (const int64_t tiles : tiling_.tiles) count *= tiles;
    Ints holders(static_cast<size_t>(count), -1);
    for (size_t member = group.size(); member-- > 0;) {
      const int64_t tile = tiling_.tile_of[static_cast<size_t>(group[member])];
      if (tile >= 0) holders[static_cast<size_t>(tile)] = static_cast<int64_t>(member);
    }
    return holders;
  }
  // What the first of each group has, to the others.
  InstructionId OfTheFirst(InstructionId own) {
    hlo::DeviceList devices;
    devices.groups = groups_;
    return Add("whole", Opcode::kCollectiveBroadcast, whole_, {own},
               {builder().Make(AttributeKey::kReplicaGroups, std::move(devices)),
                builder().MakeInt(AttributeKey::kChannelId, 1)});
  }
  // The parts one behind the other, of what all members have.
  InstructionId Parts(InstructionId all, const Ints& holders) {
    Ints sizes = part_;
    sizes.insert(sizes.begin(), 1);
    Ints ordered(holders.size());
    std::iota(ordered.begin(), ordered.end(), 0);
    const auto rows = [&](int64_t from, int64_t count) {
      Ints starts(sizes.size(), 0), limits = sizes;
      starts[0] = from;
      limits[0] = from + count;
      return Sliced("parts", all, starts, limits);
    };
    if (holders == ordered) return rows(0, std::ssize(holders));
    std::vector<InstructionId> parts;
    for (const int64_t holder : holders) {
      parts.push_back(holder < 0 ? ZeroBytes(edit_, id_, PlainArray(type_, sizes))
                                 : rows(holder, 1));
    }
    sizes[0] = std::ssize(holders);
    return Add("parts", Opcode::kConcatenate, sizes, parts,
               {builder().MakeInts(AttributeKey::kDimensions, Ints{0})});
  }
  InstructionId Joined(InstructionId parts) {
    const auto rank = static_cast<int64_t>(part_.size());
    Ints apart = tiling_.tiles, order, turned;
    apart.insert(apart.end(), part_.begin(), part_.end());
    for (int64_t d = 0; d < rank; ++d) {
      for (const int64_t from : {d, rank + d}) {
        order.push_back(from);
        turned.push_back(apart[static_cast<size_t>(from)]);
      }
    }
    const InstructionId reshaped = Add("parts", Opcode::kReshape, apart, {parts});
    const InstructionId transposed = Add("parts", Opcode::kTranspose, turned, {reshaped},
                                         {builder().MakeInts(AttributeKey::kDimensions, order)});
    return Add("whole", Opcode::kReshape, padded_, {transposed});
  }

  Edit& edit_;
  InstructionId id_;
  const hlo::DeviceCounts& counts_;
  const Tiling& tiling_;
  std::vector<Ints> groups_;  // of partitions that put a whole together
  ElementType type_;
  Ints whole_, part_, padded_;
};

// What one operand of a border is on its other side; invalid where it is no array, or its sharding
// does not say how it is cut.
InstructionId Crossed(Edit& edit, InstructionId id, size_t operand, const hlo::Sharding& sharding,
                      const hlo::DeviceCounts& counts) {
  const Module& module = edit.original();
  const Shape &from = module.shape(module.operands(id)[operand]),
              &to = module.shape(id).results()[operand];
  if (!IsStaticArray(from) || !IsStaticArray(to) || from.element_type() != to.element_type()) {
    return {};
  }
  if (to.ElementCount() == 0) return ZeroBytes(edit, id, to);
  const bool enters = hlo::EntersManualRegion(module, id);
  const Shape &whole = enters ? from : to, &part = enters ? to : from;
  const auto tiling = hlo::ManualTiling(sharding, whole, part, counts.partitions);
  if (!tiling.has_value()) return {};
  ShardBoundary boundary(edit, id, counts, whole, part, *tiling);
  const InstructionId value = edit.operand(id, operand);
  const InstructionId made = enters ? boundary.FullToShard(value) : boundary.ShardToFull(value);
  // Bitcasts mean the layout that they see.
  return edit.shape(made) == to ? made : edit.Add(id, "laid", Opcode::kCopy, to, {made});
}

bool WriteBorder(Edit& edit, InstructionId id, const hlo::DeviceCounts& counts) {
  const Module& module = edit.original();
  const auto shardings = hlo::ManualShardings(module, id);
  const size_t count = module.operands(id).size();
  if (!shardings.has_value() || edit.IsPinned(id) || count == 0 ||
      module.shape(id).results().size() != count || shardings->size() < count) {
    return false;
  }
  std::vector<InstructionId> written;
  for (size_t i = 0; i < count; ++i) {
    written.push_back(Crossed(edit, id, i, (*shardings)[i], counts));
    if (!written.back().valid()) return false;
  }
  edit.Replace(id, module.shape(id).IsTuple()
                       ? edit.Add(id, "parts", Opcode::kTuple, module.shape(id), written)
                       : written[0]);
  edit.rewriter().Remove(id);  // also where it says that it has an effect
  return true;
}

}  // namespace

Result<PassResult> DecomposeManualRegions(const std::shared_ptr<const Module>& module,
                                          Compilation& out) {
  const bool is_asked = out.plan_collectives && out.is_unpartitioned;
  if (!is_asked && !HasOpcode(*module, Opcode::kCustomCall)) return PassResult{};
  const hlo::Topology topology = hlo::TopologyOf(*module, std::numeric_limits<int64_t>::max());
  const bool is_alone = topology.counts.partitions == 1;
  if (!is_alone && !is_asked) return PassResult{};
  Edit edit(module);
  const std::vector<bool> runs = RunComputations(*module);
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    if (!runs[(*module)[id].computation.index]) continue;
    if (hlo::IsManualBorder(*module, id)) {
      if (!WriteBorder(edit, id, topology.counts)) return PassResult{};
    } else if (!is_alone && hlo::HasOwnEffect(*module, id) &&
               !hlo::IsShardyAnnotation(*module, id)) {
      return PassResult{};  // what every device does would be seen more than once
    }
  }
  if (!is_alone) {
    edit.NoteChange();
    hlo::ModuleBuilder& builder = edit.rewriter().builder();
    builder.header().replica_count = topology.counts.replicas;
    builder.header().num_partitions = topology.counts.partitions;
    builder.header().frontend_attributes.entries.push_back(
        {builder.Intern(hlo::kOwnValues), builder.Intern("true")});
  }
  return edit.Finish();
}

}  // namespace hloscope::compile
