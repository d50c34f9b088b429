// Writing the attributes of an opcode into the fields of its HloInstructionProto.
#include <algorithm>
#include <numeric>

#include "core/hlo/comparison.h"
#include "core/hlo/proto/proto_computation.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/proto/proto_writer.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

using namespace InstructionField;

// TriState of hlo.proto.
enum : int64_t { kTriStateTrue = 1, kTriStateFalse = 2 };

// Messages XLA writes for an opcode that has them even where no attribute is inside.
bool IsAlwaysWritten(uint32_t number) { return number != InstructionField::kParameterReplication; }

// How many precisions XLA writes where the text gives none.
size_t DefaultPrecisionCount(const Instruction& i) {
  return i.opcode == Opcode::kCustomCall ? i.operand_count : 2;
}

// The numbers of `{{1,2},{3}}`, one after another.
std::vector<int64_t> NumbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  TextCursor cursor(text);
  while (!cursor.AtEnd()) {
    if (auto number = cursor.ReadInt()) {
      numbers.push_back(*number);
    } else {
      cursor.set_position(cursor.position() + 1);  // a bracket or comma
    }
  }
  return numbers;
}

}  // namespace

void InstructionWriter::WriteAttributes() { WriteGroup(AttributeFields(instruction_->opcode), 0); }

void InstructionWriter::WriteGroup(std::span<const AttributeField> fields, size_t depth) {
  while (!fields.empty()) {
    const AttributeField& first = fields[0];
    uint32_t number = first.path[depth];
    bool leaf = depth + 1 == first.path.size() || first.path[depth + 1] == 0;
    if (leaf) {
      WriteAttribute(first, number);
      fields = fields.subspan(1);
      continue;
    }
    size_t count = 1;
    while (count < fields.size() && fields[count].path[depth] == number) ++count;
    if (IsAlwaysWritten(number) || Find(first.key) != nullptr) {
      auto mark = out_.Open(number);
      WriteGroup(fields.first(count), depth + 1);
      out_.Close(mark);
    }
    fields = fields.subspan(count);
  }
}

void InstructionWriter::WriteAttribute(const AttributeField& field, uint32_t number) {
  const Attribute* attribute = Find(field.key);
  switch (Info(field.key).kind) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kFloat:
      return WriteNumber(field, number, attribute);
    case ValueKind::kEnum:
      return WriteEnum(field, number, attribute);
    case ValueKind::kString:
      if (attribute != nullptr) {
        std::string_view text = module()[StringId(attribute->value)];
        bool usual = field.key == AttributeKey::kAsyncExecutionThread && text == "main";
        if (!usual) out_.BytesUnlessEmpty(number, text);
      }
      return;
    case ValueKind::kInts:
    case ValueKind::kBools:
    case ValueKind::kEnums:
      return WriteInts(field, number, attribute);
    case ValueKind::kComputation:
    case ValueKind::kComputations:
      return;  // WriteCalled
    default:
      return WriteStructure(field, attribute);
  }
}

void InstructionWriter::WriteNumber(const AttributeField& field, uint32_t number,
                                    const Attribute* attribute) {
  if (attribute == nullptr) {
    if (field.key == AttributeKey::kIsAssociative) return out_.Int(number, kTriStateFalse);
    if (field.absent != AttributeField::kPresence) out_.IntUnlessZero(number, field.absent);
    return;
  }
  switch (field.key) {
    case AttributeKey::kEpsilon:
      if (attribute->value != 0) out_.Float(number, FloatFromBits(attribute->value));
      return;
    case AttributeKey::kIotaDimension:
    case AttributeKey::kInferredDimension: {
      int64_t value = module().IntOf(*attribute);
      return out_.PackedInts(number, {&value, 1});
    }
    case AttributeKey::kIsAssociative:
      return out_.Int(number, attribute->value != 0 ? kTriStateTrue : kTriStateFalse);
    case AttributeKey::kCrossProgramPrefetchIndex:
      return out_.Int(number, module().IntOf(*attribute));
    default:
      return out_.IntUnlessZero(number, module().IntOf(*attribute));
  }
}

void InstructionWriter::WriteEnum(const AttributeField& field, uint32_t number,
                                  const Attribute* attribute) {
  if (field.key == AttributeKey::kComparisonType) {
    return out_.Bytes(number, ComparisonTypeText(attribute));
  }
  int64_t value = attribute == nullptr ? field.absent : static_cast<int32_t>(attribute->value);
  if (field.key == AttributeKey::kDirection || field.key == AttributeKey::kFusionKind ||
      field.key == AttributeKey::kOrder) {
    if (attribute != nullptr) out_.Bytes(number, EnumText(field.key, value));
    return;
  }
  out_.IntUnlessZero(number, value);
}

std::string_view InstructionWriter::ComparisonTypeText(const Attribute* attribute) const {
  ComparisonType type = ComparisonType::kFloat;
  if (attribute != nullptr) {
    type = static_cast<ComparisonType>(attribute->value);
  } else if (instruction_->operand_count > 0) {
    type =
        DefaultComparisonType(module().shape(module().operands(*instruction_)[0]).element_type());
  }
  int64_t order = module().GetInt(*instruction_, AttributeKey::kOrder, -1);
  if (type == ComparisonType::kFloat && order == static_cast<int64_t>(ComparisonOrder::kTotal)) {
    type = ComparisonType::kTotalOrder;
  }
  return EnumText(AttributeKey::kComparisonType, static_cast<int64_t>(type));
}

void InstructionWriter::WriteInts(const AttributeField& field, uint32_t number,
                                  const Attribute* attribute) {
  if (attribute != nullptr) return out_.PackedInts(number, module().IntsOf(*attribute));
  std::vector<int64_t> values;
  if (field.key == AttributeKey::kOperandPrecision) {
    values.assign(DefaultPrecisionCount(*instruction_), 0);
  } else if (field.key == AttributeKey::kDimensions && instruction_->opcode == Opcode::kMap) {
    values.resize(module()[instruction_->shape].rank());  // a map goes over all dimensions
    std::iota(values.begin(), values.end(), int64_t{0});
  }
  out_.PackedInts(number, values);
}

void InstructionWriter::WriteStructure(const AttributeField& field, const Attribute* attribute) {
  using enum AttributeKey;
  const Module& m = module();
  auto message = [&](uint32_t number, auto write) {
    auto mark = out_.Open(number);
    write();
    out_.Close(mark);
  };
  bool is_convolution = instruction_->opcode == Opcode::kConvolution;
  if (attribute == nullptr) {
    if (field.key == kReplicaGroups) WriteDeviceList(out_, {});
    if (field.key == kOutfeedShape) WriteShapes(field, nullptr);
    if (is_convolution && field.key == kWindow) out_.Empty(InstructionField::kWindow);
    if (is_convolution && field.key == kSparsityConfig) {
      out_.Empty(InstructionField::kSparsityConfig);
    }
    return;
  }
  switch (field.key) {
    case kConstantValue:
    case kLiteral:
      return message(InstructionField::kLiteral,
                     [&] { WriteLiteral(out_, m.Of<Literal>(*attribute)); });
    case kWindow:
      return message(InstructionField::kWindow,
                     [&] { WriteWindow(out_, m.Of<Window>(*attribute)); });
    case kDimLabels:
      return message(kConvolutionDimensionNumbers,
                     [&] { WriteConvolutionDims(out_, m.Of<ConvolutionDims>(*attribute)); });
    case kPadding:
      return message(kPaddingConfig, [&] { WritePadding(out_, m.IntsOf(*attribute)); });
    case kResultAccuracy:
      if (m.Of<ResultAccuracy>(*attribute).mode == ResultAccuracy::Mode::kDefault) return;
      return message(InstructionField::kResultAccuracy,
                     [&] { WriteResultAccuracy(out_, m.Of<ResultAccuracy>(*attribute)); });
    case kSparsityConfig:
      return message(InstructionField::kSparsityConfig,
                     [&] { WriteSparsityText(out_, m[m.Of<RawAttribute>(*attribute).text]); });
    case kPermuteSliceSizes:
      return out_.PackedInts(InstructionField::kDynamicSliceSizes,
                             NumbersIn(m[m.Of<RawAttribute>(*attribute).text]));
    case kReplicaGroups:
      return WriteDeviceList(out_, m.Of<DeviceList>(*attribute));
    case kOutputToOperandAliasing:
      for (const OutputOperandAlias& alias : m.Of<OutputOperandAliasing>(*attribute).entries) {
        message(kOutputOperandAliasing, [&] { WriteOutputOperandAlias(out_, alias); });
      }
      return;
    case kDomain:
      return WriteDomain(*attribute);
    case kSlice:
    case kSourceTargetPairs:
      return WriteSlices(*attribute);
    case kOutfeedShape:
    case kOperandLayoutConstraints:
      return WriteShapes(field, attribute);
    default:
      return;
  }
}

void InstructionWriter::WriteDomain(const Attribute& attribute) {
  const auto& domain = module().Of<Domain>(attribute);
  // What a text calls the exit is the side of the operand, which protos call the entry.
  auto mark = out_.Open(kDomainEntrySharding);
  WriteSharding(out_, domain.exit);
  out_.Close(mark);
  mark = out_.Open(kDomainExitSharding);
  WriteSharding(out_, domain.entry);
  out_.Close(mark);
}

// Slices and pairs: a message for every three or two numbers.
void InstructionWriter::WriteSlices(const Attribute& attribute) {
  bool is_slice = attribute.key == AttributeKey::kSlice;
  size_t size = is_slice ? 3 : 2;
  auto values = module().IntsOf(attribute);
  for (size_t i = 0; i + size <= values.size(); i += size) {
    auto mark = out_.Open(is_slice ? kSliceDimensions : InstructionField::kSourceTargetPairs);
    for (uint32_t k = 0; k < size; ++k) out_.IntUnlessZero(k + 1, values[i + k]);
    out_.Close(mark);
  }
}

void InstructionWriter::WriteShapes(const AttributeField& field, const Attribute* attribute) {
  if (field.key == AttributeKey::kOperandLayoutConstraints) {
    out_.Bool(InstructionField::kConstrainLayout, true);
    for (uint32_t id : module().IdsOf(*attribute)) {
      out_.Bytes(kOperandShapesWithLayout, scope_.BytesOf(ShapeId(id)));
    }
    return;
  }
  ShapeId shape;
  if (attribute != nullptr) {
    shape = ShapeId(attribute->value);
  } else if (instruction_->operand_count > 0) {
    shape = module()[module().operands(*instruction_)[0]].shape;
  }
  if (shape.valid()) out_.Bytes(InstructionField::kOutfeedShape, scope_.BytesOf(shape));
}

}  // namespace hloscope::hlo
