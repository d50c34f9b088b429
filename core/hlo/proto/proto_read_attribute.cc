// Reading the attributes of an opcode from the fields of its HloInstructionProto.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/proto/proto_reader.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

using namespace InstructionField;

// TriState of hlo.proto.
enum : int64_t { kTriStateUnset = 0, kTriStateTrue = 1 };

// Attributes XLA prints even where they are empty; without dimensions an all-to-all is of another
// form.
bool IsAlwaysPrinted(Opcode opcode, AttributeKey key) {
  using enum AttributeKey;
  if (opcode == Opcode::kAllToAll || opcode == Opcode::kRaggedAllToAll) return false;
  return key == kDimensions || key == kLhsContractingDims || key == kRhsContractingDims;
}

// Fields that are a list of which the attribute is the first number.
bool IsFirstOfList(AttributeKey key) {
  return key == AttributeKey::kIotaDimension || key == AttributeKey::kInferredDimension;
}

}  // namespace

Status InstructionReader::ReadFrontendAttributes() {
  std::string_view bytes = fields_.TakeMessage(kFrontendAttributes);
  if (bytes.empty()) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(FrontendAttributes attributes,
                            ReadFrontendAttributesProto(bytes, scope_.builder));
  if (attributes.entries.empty()) return {};
  Add(scope_.builder.Make(AttributeKey::kFrontendAttributes, std::move(attributes)));
  return {};
}

Result<FrontendAttributes> ReadFrontendAttributesProto(std::string_view bytes,
                                                       ModuleBuilder& builder) {
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(FrontendField::kMap)) continue;
    auto& [key, value] = entries.emplace_back();
    WireReader entry(field.bytes);
    WireField part;
    while (entry.Next(part)) {
      if (part.tag == AsBytes(FrontendEntryField::kKey)) key = part.bytes;
      if (part.tag == AsBytes(FrontendEntryField::kValue)) value = part.bytes;
    }
    if (!entry.ok()) return Malformed("FrontendAttributes.MapEntry");
  }
  if (!reader.ok()) return Malformed("FrontendAttributes");
  std::ranges::stable_sort(entries, {}, [](const auto& e) { return e.first; });
  FrontendAttributes attributes;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i + 1].first == entries[i].first) continue;  // last wins
    const auto& [key, value] = entries[i];
    attributes.entries.push_back({builder.Intern(key), builder.Intern(value), IsJsonDict(value)});
  }
  return attributes;
}

Status InstructionReader::ReadNumber(const AttributeField& field, const WireField* value) {
  int64_t number = value == nullptr ? 0 : value->AsInt64();
  bool there = value != nullptr;
  if (IsFirstOfList(field.key) && there) {
    ints_.clear();
    if (!fields_.TakeInts(field.path[0], ints_)) return Malformed("dimensions");
    there = !ints_.empty();
    number = there ? ints_[0] : 0;
  }
  if (field.key == AttributeKey::kChannelId) {
    const WireField* old = fields_.Take(kAllReduceId);
    if (number <= 0 && old != nullptr) number = old->AsInt64();
    there = number > 0;
  }
  if (field.key == AttributeKey::kIsAssociative) {
    there = number != kTriStateUnset;
    number = number == kTriStateTrue ? 1 : 0;
  }
  // A bool without field is false, also where an attribute left out of a text means true.
  bool is_value = there || Info(field.key).kind == ValueKind::kBool;
  bool absent =
      field.absent == AttributeField::kPresence ? !there : !is_value || number == field.absent;
  if (absent && !field.required) return {};
  switch (Info(field.key).kind) {
    case ValueKind::kBool:
      Add(scope_.builder.MakeBool(field.key, number != 0));
      break;
    case ValueKind::kFloat:
      Add(scope_.builder.MakeFloat(field.key, FloatFromBits(value == nullptr ? 0 : value->value)));
      break;
    default:
      Add(scope_.builder.MakeInt(field.key, number));
  }
  return {};
}

Status InstructionReader::ReadEnum(const AttributeField& field, const WireField* value) {
  bool is_text = value != nullptr && (value->tag & 7) == 2;
  std::optional<int32_t> number = 0;
  if (is_text) {
    number = EnumNumber(field.key, value->bytes);
    if (!number && field.key == AttributeKey::kComparisonType && value->bytes.empty()) return {};
    if (!number) {
      return InputError(fmt::format("{}: unknown value `{}`", Info(field.key).text, value->bytes));
    }
  } else if (value != nullptr) {
    number = value->AsInt32();
    if (EnumText(field.key, *number).empty()) {
      return InputError(fmt::format("{}: unknown value {}", Info(field.key).text, *number));
    }
  }
  bool absent = field.absent == AttributeField::kPresence
                    ? value == nullptr
                    : value == nullptr || *number == field.absent;
  if (absent && !field.required) return {};
  Add(scope_.builder.MakeEnum(field.key, *number));
  return {};
}

Status InstructionReader::ReadList(Opcode opcode, const AttributeField& field) {
  ints_.clear();
  const WireField* value = Find(field);
  FieldTable& table = field.path[1] == 0 ? fields_ : inner_;
  uint8_t number = field.path[1] == 0   ? field.path[0]
                   : field.path[2] == 0 ? field.path[1]
                                        : field.path[2];
  if (value != nullptr && !table.TakeInts(number, ints_)) return Malformed(Info(field.key).text);
  bool empty = ints_.empty();
  if (Info(field.key).kind == ValueKind::kEnums) {
    empty = std::ranges::all_of(ints_, [](int64_t v) { return v == 0; });
    for (int64_t v : ints_) {
      if (!EnumText(field.key, v).empty()) continue;
      return InputError(fmt::format("{}: unknown value {}", Info(field.key).text, v));
    }
    // One for each side of a product, as XLA completes them.
    if (!empty && opcode != Opcode::kCustomCall && ints_.size() < 2) ints_.resize(2);
  }
  if (field.key == AttributeKey::kParameterReplication) empty = !fields_.Has(field.path[0]);
  if (empty && !field.required && !IsAlwaysPrinted(opcode, field.key)) return {};
  Add(scope_.builder.MakeInts(field.key, ints_));
  return {};
}

Status InstructionReader::ReadStructure(Opcode opcode, const AttributeField& field) {
  using enum AttributeKey;
  ModuleBuilder& builder = scope_.builder;
  switch (field.key) {
    case kConstantValue:
    case kLiteral: {
      if (!fields_.Has(InstructionField::kLiteral)) {
        if (opcode != Opcode::kConstant) return {};
        return InputError("constant has no literal");
      }
      HLOSCOPE_ASSIGN_OR_RETURN(Literal literal,
                                ReadLiteral(fields_.TakeMessage(InstructionField::kLiteral),
                                            scope_.limits, scope_.owner));
      Add(builder.Make(field.key, std::move(literal)));
      return {};
    }
    case kWindow: {
      HLOSCOPE_ASSIGN_OR_RETURN(Window window,
                                ReadWindow(fields_.TakeMessage(InstructionField::kWindow)));
      bool there = !window.dimensions.empty() ||
                   (opcode == Opcode::kCustomCall && fields_.Has(InstructionField::kWindow));
      if (there) Add(builder.Make(kWindow, std::move(window)));
      return {};
    }
    case kDimLabels: {
      if (!fields_.Has(kConvolutionDimensionNumbers) && !field.required) return {};
      HLOSCOPE_ASSIGN_OR_RETURN(
          ConvolutionDims dims,
          ReadConvolutionDims(fields_.TakeMessage(kConvolutionDimensionNumbers)));
      Add(builder.Make(kDimLabels, std::move(dims)));
      return {};
    }
    case kPadding: {
      HLOSCOPE_ASSIGN_OR_RETURN(std::vector<int64_t> values,
                                ReadPadding(fields_.TakeMessage(kPaddingConfig)));
      Add(builder.MakeInts(kPadding, values));
      return {};
    }
    case kResultAccuracy: {
      HLOSCOPE_ASSIGN_OR_RETURN(
          ResultAccuracy accuracy,
          ReadResultAccuracy(fields_.TakeMessage(InstructionField::kResultAccuracy)));
      if (accuracy != ResultAccuracy()) Add(builder.Make(kResultAccuracy, accuracy));
      return {};
    }
    case kSparsityConfig: {
      HLOSCOPE_ASSIGN_OR_RETURN(
          std::string text,
          ReadSparsityText(fields_.TakeMessage(InstructionField::kSparsityConfig)));
      if (text.empty()) return {};
      Add(builder.Make(kSparsityConfig, RawAttribute{builder.Intern(Info(kSparsityConfig).text),
                                                     builder.Intern(text)}));
      return {};
    }
    case kPermuteSliceSizes:
      ints_.clear();
      if (!fields_.TakeInts(InstructionField::kDynamicSliceSizes, ints_))
        return Malformed("dynamic_slice_sizes");
      // A flat list for now: how it is divided depends on the shape of the operand.
      if (!ints_.empty()) Add(builder.MakeInts(kPermuteSliceSizes, ints_));
      return {};
    case kDomain:
      return ReadDomain();
    case kSlice:
      return ReadSlices();
    case kSourceTargetPairs:
      return ReadPairs();
    case kReplicaGroups:
      return ReadDeviceListField();
    case kOutputToOperandAliasing:
      return ReadAliasing();
    case kOutfeedShape:
    case kOperandLayoutConstraints:
      return ReadShapes(field);
    default:
      return {};
  }
}

Status InstructionReader::ReadShapes(const AttributeField& field) {
  if (field.key == AttributeKey::kOutfeedShape) {
    if (!fields_.Has(InstructionField::kOutfeedShape)) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(ShapeId shape,
                              scope_.ShapeOf(fields_.TakeMessage(InstructionField::kOutfeedShape)));
    Add(scope_.builder.MakeShape(field.key, shape));
    return {};
  }
  const WireField* constrained = fields_.Take(InstructionField::kConstrainLayout);
  ids_.clear();
  Status status;
  fields_.ForEach(kOperandShapesWithLayout, [&](const WireField& f) {
    auto shape = scope_.ShapeOf(f.bytes);
    if (shape) {
      ids_.push_back(shape->index);
    } else {
      status = std::unexpected(std::move(shape).error());
    }
  });
  HLOSCOPE_TRY(std::move(status));
  bool there = !ids_.empty() || (constrained != nullptr && constrained->AsBool());
  if (there) Add(scope_.builder.MakeIds(field.key, ids_));
  return {};
}

Status InstructionReader::ReadDomain() {
  Domain domain;
  domain.kind = "sharding";
  // What a text calls the exit is the side of the operand, which protos call the entry.
  HLOSCOPE_ASSIGN_OR_RETURN(domain.exit,
                            ReadSharding(fields_.TakeMessage(kDomainEntrySharding), scope_.limits));
  HLOSCOPE_ASSIGN_OR_RETURN(domain.entry,
                            ReadSharding(fields_.TakeMessage(kDomainExitSharding), scope_.limits));
  Add(scope_.builder.Make(AttributeKey::kDomain, std::move(domain)));
  return {};
}

Status InstructionReader::ReadSlices() {
  ints_.clear();
  bool ok = true;
  fields_.ForEach(kSliceDimensions, [&](const WireField& field) {
    int64_t v[3];  // start, limit, stride
    ok &= ReadIntFields(field.bytes, v);
    ints_.insert(ints_.end(), v, v + 3);
  });
  if (!ok) return Malformed("SliceDimensions");
  Add(scope_.builder.MakeInts(AttributeKey::kSlice, ints_));
  return {};
}

Status InstructionReader::ReadPairs() {
  ints_.clear();
  bool ok = true;
  fields_.ForEach(InstructionField::kSourceTargetPairs, [&](const WireField& field) {
    int64_t v[2];
    ok &= ReadIntFields(field.bytes, v);
    ints_.insert(ints_.end(), v, v + 2);
  });
  if (!ok) return Malformed("SourceTarget");
  Add(scope_.builder.MakeInts(AttributeKey::kSourceTargetPairs, ints_));
  return {};
}

Status InstructionReader::ReadAliasing() {
  OutputOperandAliasing aliasing;
  Status status;
  fields_.ForEach(kOutputOperandAliasing, [&](const WireField& field) {
    auto alias = ReadOutputOperandAlias(field.bytes);
    if (alias) {
      aliasing.entries.push_back(*std::move(alias));
    } else {
      status = std::unexpected(std::move(alias).error());
    }
  });
  HLOSCOPE_TRY(std::move(status));
  if (aliasing.entries.empty()) return {};
  Add(scope_.builder.Make(AttributeKey::kOutputToOperandAliasing, std::move(aliasing)));
  return {};
}

Status InstructionReader::ReadDeviceListField() {
  DeviceList list;
  if (fields_.Has(kMeshAxesReplicaGroupList)) {
    HLOSCOPE_ASSIGN_OR_RETURN(list,
                              ReadMeshDeviceList(fields_.TakeMessage(kMeshAxesReplicaGroupList)));
  } else if (fields_.Has(kIotaCollectiveDeviceList)) {
    HLOSCOPE_ASSIGN_OR_RETURN(list,
                              ReadIotaDeviceList(fields_.TakeMessage(kIotaCollectiveDeviceList)));
  } else if (fields_.Has(kCollectiveDeviceList)) {
    HLOSCOPE_ASSIGN_OR_RETURN(list, ReadGroups(fields_.TakeMessage(kCollectiveDeviceList)));
  }
  // Protos before 2024 list the groups in the instruction itself.
  Status status;
  bool old = list.form == DeviceList::Form::kGroups && list.groups.empty();
  fields_.ForEach(InstructionField::kReplicaGroups, [&](const WireField& field) {
    auto group = ReadGroup(field.bytes);
    if (!group) {
      status = std::unexpected(std::move(group).error());
    } else if (old) {
      list.groups.push_back(*std::move(group));
    }
  });
  HLOSCOPE_TRY(std::move(status));
  Add(scope_.builder.Make(AttributeKey::kReplicaGroups, std::move(list)));
  return {};
}

Status InstructionReader::ReadCalled(Opcode opcode) {
  ints_.clear();
  if (!fields_.TakeInts(kCalledComputationIds, ints_)) return Malformed("called_computation_ids");
  if (ints_.empty()) return {};
  ids_.clear();
  for (int64_t id : ints_) {
    HLOSCOPE_ASSIGN_OR_RETURN(ComputationId computation, scope_.ComputationOf(id));
    ids_.push_back(computation.index);
  }
  return AddCalled(opcode);
}

Status InstructionReader::AddCalled(Opcode opcode) {
  using enum AttributeKey;
  ModuleBuilder& builder = scope_.builder;
  auto add = [&](std::initializer_list<AttributeKey> keys) -> Status {
    if (keys.size() != ids_.size()) {
      return InputError(fmt::format("{} calls {}, expected {}", ToString(opcode),
                                    Counted(ids_.size(), "computation"), keys.size()));
    }
    size_t i = 0;
    for (AttributeKey key : keys) Add(builder.MakeComputation(key, ComputationId(ids_[i++])));
    return {};
  };
  static constexpr OpcodeSet kHaveCalls = {Opcode::kFusion, Opcode::kAsyncStart,
                                           Opcode::kAsyncUpdate, Opcode::kAsyncDone};
  if (opcode == Opcode::kWhile) return add({kBody, kCondition});
  if (opcode == Opcode::kSelectAndScatter) return add({kSelectComputation, kScatterComputation});
  if (opcode == Opcode::kConditional || opcode == Opcode::kCustomCall) {
    const bool are_branches = opcode == Opcode::kConditional;
    Add(builder.MakeIds(are_branches ? kBranchComputations : kCalledComputations, ids_));
    return {};
  }
  return add({kHaveCalls.Has(opcode) ? kCalls : kToApply});
}

}  // namespace hloscope::hlo
