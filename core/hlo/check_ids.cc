// Computations, instructions, attributes by the kind of their values, pools, header.
#include "core/hlo/check_ids.h"

#include <algorithm>
#include <cstring>

#include "core/hlo/module_builder.h"

namespace hloscope::hlo {
namespace {

// A bool whose byte comes from outside.
bool IsBool(const bool& value) {
  uint8_t byte = 0;
  std::memcpy(&byte, &value, sizeof byte);
  return byte < 2;
}

// Axes are positions in the mesh.
bool Fit(const std::vector<AxisRef>& axes, const Mesh& mesh) {
  return std::ranges::all_of(
      axes, [&](const AxisRef& ref) { return ref.axis >= 0 && ref.axis < std::ssize(mesh.axes); });
}
bool Fit(const Sharding& s) {
  return Fit(s.replicated_axes, s.mesh) && Fit(s.unreduced_axes, s.mesh) &&
         Fit(s.manual_axes, s.mesh) &&
         std::ranges::all_of(s.dimensions,
                             [&](const DimensionSharding& d) { return Fit(d.axes, s.mesh); }) &&
         std::ranges::all_of(s.elements, [](const Sharding& each) { return Fit(each); });
}

// `Pools` is the module's tuple of vectors.
template <typename Pools>
class IdCheck {
 public:
  IdCheck(const Module& module, size_t operands, size_t attributes, std::span<const int64_t> ints,
          std::span<const uint32_t> ids, const Pools& pools)
      : module_(module),
        operands_(operands),
        attributes_(attributes),
        ints_(ints),
        ids_(ids),
        pools_(pools) {}

  bool Holds() const {
    return Has(module_.entry_id()) && All(module_.computations()) && InstructionsHold() &&
           std::apply([this](const auto&... pool) { return (All(pool) && ...); }, pools_) &&
           Holds(module_.header()) && ProtoPartsHold();
  }

 private:
  static bool Within(uint64_t first, uint64_t count, size_t size) {
    return first <= size && count <= size - first;
  }
  bool Has(StringId id) const { return id.index < module_.strings().size(); }
  bool Has(ShapeId id) const { return id.index < module_.shape_count(); }
  bool Has(InstructionId id) const { return id.index < module_.instructions().size(); }
  bool Has(ComputationId id) const { return id.index < module_.computations().size(); }
  bool IsText(StringId id) const { return !id.valid() || Has(id); }

  template <typename List>
  bool All(const List& list) const {
    return std::ranges::all_of(list, [this](const auto& each) { return Holds(each); });
  }

  bool Holds(StringId id) const { return Has(id); }
  bool Holds(ShapeId id) const { return Has(id); }

  bool Holds(const Computation& c) const {
    return Has(c.name) && IsText(c.execution_thread) &&
           Within(c.first_instruction, c.instruction_count, module_.instructions().size()) &&
           IsOf(c, c.root);
  }
  static bool IsOf(const Computation& c, InstructionId id) {
    return id.index >= c.first_instruction && id.index - c.first_instruction < c.instruction_count;
  }
  bool InstructionsHold() const {
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
      if (!Holds(InstructionId(i))) return false;
    }
    return true;
  }
  bool Holds(InstructionId id) const {
    const Instruction& i = module_[id];
    if (!Has(i.name) || !Has(i.shape) || static_cast<int>(i.opcode) >= kOpcodeCount ||
        !Has(i.computation) || !IsOf(module_[i.computation], id) ||
        !Within(i.first_operand, i.operand_count, operands_) ||
        !Within(i.first_attribute, i.attribute_count, attributes_)) {
      return false;
    }
    return std::ranges::all_of(
               module_.operands(i),
               [&](InstructionId operand) { return IsOf(module_[i.computation], operand); }) &&
           All(module_.attributes(i));
  }

  bool Holds(const Attribute& a) const {
    if (static_cast<int>(a.key) >= kAttributeKeyCount || !IsBool(a.wide)) return false;
    switch (Info(a.key).kind) {
      case ValueKind::kBool:
      case ValueKind::kFloat:
      case ValueKind::kEnum:
        return true;
      case ValueKind::kInt:
        return !a.wide || a.value < ints_.size();
      case ValueKind::kString:
        return Has(StringId(a.value));
      case ValueKind::kInts:
      case ValueKind::kBools:
      case ValueKind::kEnums:
      case ValueKind::kPairs:
      case ValueKind::kPadding:
      case ValueKind::kSlices:
        return IsList(a, ints_);
      case ValueKind::kComputation:
        return Has(ComputationId(a.value));
      case ValueKind::kComputations:
        return IsListOf<ComputationId>(a);
      case ValueKind::kInstructions:
        return IsListOf<InstructionId>(a);
      case ValueKind::kShape:
        return Has(ShapeId(a.value));
      case ValueKind::kShapes:
        return IsListOf<ShapeId>(a);
      case ValueKind::kLiteral:
        return IsIn<Literal>(a);
      case ValueKind::kWindow:
        return IsIn<Window>(a);
      case ValueKind::kDimLabels:
        return IsIn<ConvolutionDims>(a);
      case ValueKind::kDeviceList:
        return IsIn<DeviceList>(a);
      case ValueKind::kSharding:
        return IsIn<Sharding>(a);
      case ValueKind::kDomain:
        return IsIn<Domain>(a);
      case ValueKind::kFrontendAttributes:
        return IsIn<FrontendAttributes>(a);
      case ValueKind::kAliasing:
        return IsIn<OutputOperandAliasing>(a);
      case ValueKind::kStatistics:
        return IsIn<Statistics>(a);
      case ValueKind::kOriginalValue:
        return IsIn<OriginalValue>(a);
      case ValueKind::kResultAccuracy:
        return IsIn<ResultAccuracy>(a);
      case ValueKind::kMetadata:
        return IsIn<OpMetadata>(a);
      case ValueKind::kBackendConfig:
        return IsIn<BackendConfig>(a);
      case ValueKind::kRaw:
        return IsIn<RawAttribute>(a);
    }
    return false;
  }
  // A count, then so many values.
  template <typename T>
  static bool IsList(const Attribute& a, std::span<const T> pool) {
    return a.value < pool.size() && pool[a.value] >= 0 &&
           static_cast<uint64_t>(pool[a.value]) < pool.size() - a.value;
  }
  template <typename I>
  bool IsListOf(const Attribute& a) const {
    return IsList(a, ids_) &&
           std::ranges::all_of(module_.IdsOf(a), [this](uint32_t id) { return Has(I(id)); });
  }
  template <typename T>
  bool IsIn(const Attribute& a) const {
    return a.value < std::get<std::vector<T>>(pools_).size();
  }

  // Elements of pools. Most have no ids.
  template <typename T>
  bool Holds(const T&) const {
    return true;
  }
  bool Holds(const Window& window) const {
    return std::ranges::all_of(window.dimensions,
                               [](const WindowDimension& d) { return IsBool(d.window_reversal); });
  }
  bool Holds(const DeviceList& list) const { return Fit(list.axes, list.mesh); }
  bool Holds(const Sharding& sharding) const { return Fit(sharding); }
  bool Holds(const Domain& domain) const { return Fit(domain.entry) && Fit(domain.exit); }
  bool Holds(const FrontendAttributes& map) const {
    return std::ranges::all_of(map.entries, [this](const FrontendAttribute& entry) {
      return IsText(entry.key) && IsText(entry.value) && IsBool(entry.json);
    });
  }
  bool Holds(const OpMetadata& m) const {
    return IsText(m.op_type) && IsText(m.op_name) && IsText(m.source_file) &&
           IsText(m.deduplicated_name) && IsText(m.scheduling_name) && IsText(m.profile_type) &&
           IsText(m.metadata_payload) && IsText(m.unknown) && IsBool(m.preserve_layout);
  }
  bool Holds(const BackendConfig& config) const {
    return IsText(config.text) && IsBool(config.json);
  }
  bool Holds(const RawAttribute& raw) const {
    return IsText(raw.name) && IsText(raw.text) && IsBool(raw.misplaced);
  }

  bool Holds(const ModuleHeader& header) const {
    return IsText(header.name) && IsText(header.origin_recovery_table) &&
           IsText(header.debug_attributes) && Holds(header.frontend_attributes) &&
           All(header.unknown) && All(header.stack_frames.file_names) &&
           All(header.stack_frames.function_names) &&
           (!header.entry_layout ||
            (All(header.entry_layout->parameters) && Has(header.entry_layout->result))) &&
           (!header.spmd_output_sharding || Fit(*header.spmd_output_sharding));
  }

  bool ProtoPartsHold() const {
    const size_t instructions = module_.instructions().size();
    const size_t computations = module_.computations().size();
    return module_.proto_instruction_ids().size() <= instructions &&
           module_.proto_computation_ids().size() <= computations &&
           std::ranges::all_of(module_.unknown_fields(), [&](const UnknownFields& fields) {
             switch (fields.kind) {
               case MessageKind::kModule:
                 return true;
               case MessageKind::kComputation:
                 return fields.index < computations;
               case MessageKind::kInstruction:
                 return fields.index < instructions;
             }
             return false;
           });
  }

  const Module& module_;
  size_t operands_, attributes_;
  std::span<const int64_t> ints_;
  std::span<const uint32_t> ids_;
  const Pools& pools_;
};

}  // namespace

bool IdsLeadInside(const Module& module) {
  bool holds = false;
  ModuleBuilder::TakeParts(
      module, [&](const auto&, const auto&, const auto&, const auto&, const auto& operands,
                  const auto& attributes, const auto& ints, const auto& ids, const auto&,
                  const auto& pools, const auto&...) {
        holds = IdCheck(module, operands.size(), attributes.size(), ints, ids, pools).Holds();
      });
  return holds;
}

}  // namespace hloscope::hlo
