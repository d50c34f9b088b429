// One instruction: name, shape, opcode, operands, and its attributes in XLA's order.
#include <algorithm>
#include <array>

#include "core/hlo/text/text_printer.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr uint8_t kNotPrinted = 255;  // stands between the parentheses
constexpr uint8_t kStray = 63;        // an attribute its opcode does not have
constexpr uint8_t kCommon = 64;       // sharding and all that follow it
constexpr uint8_t kFrontendRank = 65;
constexpr uint8_t kResultAccuracyRank = 68;
constexpr uint8_t kFirstOfWhole = 69;  // origin, metadata, backend_config: never of a wrapped one
constexpr uint8_t kEnd = 254;

// Where an attribute of an opcode stands. The row of opcodes.def comes first, then the common ones
// in the order of attributes.def; result_accuracy, a row's own, stands after statistics, and the
// kind of a convolution before its precision.
struct OpcodeOrder {
  std::array<uint8_t, kAttributeKeyCount> rank;
  std::array<uint8_t, 4> always = {};  // ranks of those printed even when absent
  uint8_t always_count = 0;
};

OpcodeOrder MakeOrder(Opcode opcode) {
  OpcodeOrder order;
  order.rank.fill(kStray);
  for (size_t k = static_cast<size_t>(AttributeKey::kSharding); k < order.rank.size(); ++k) {
    size_t place = kCommon + k - static_cast<size_t>(AttributeKey::kSharding);
    order.rank[k] = static_cast<uint8_t>(place < kResultAccuracyRank ? place : place + 1);
  }
  uint8_t place = 0;
  for (const AttributeUse& use : Info(opcode).attributes) {
    if (use.always_printed) order.always[order.always_count++] = place;
    order.rank[static_cast<size_t>(use.key)] = place++;
  }
  if (opcode == Opcode::kConvolution) {
    std::swap(order.rank[static_cast<size_t>(AttributeKey::kConvolutionKind)],
              order.rank[static_cast<size_t>(AttributeKey::kOperandPrecision)]);
  }
  order.rank[static_cast<size_t>(AttributeKey::kResultAccuracy)] = kResultAccuracyRank;
  order.rank[static_cast<size_t>(AttributeKey::kParameterNumber)] = kNotPrinted;
  order.rank[static_cast<size_t>(AttributeKey::kConstantValue)] = kNotPrinted;
  return order;
}

const OpcodeOrder& RanksOf(Opcode opcode) {
  static const std::vector<OpcodeOrder> orders = [] {
    std::vector<OpcodeOrder> made;
    made.reserve(kOpcodeCount);
    for (int k = 0; k < kOpcodeCount; ++k) made.push_back(MakeOrder(static_cast<Opcode>(k)));
    return made;
  }();
  return orders[static_cast<size_t>(opcode)];
}

std::string_view AsyncSuffix(Opcode opcode) {
  if (opcode == Opcode::kAsyncStart) return "-start";
  return opcode == Opcode::kAsyncUpdate ? "-update" : "-done";
}

bool LacksLayout(const Shape& shape) {
  if (shape.IsArray()) return !shape.has_layout();
  std::span<const Shape> elements = shape.elements();
  return std::any_of(elements.begin(), elements.end(), LacksLayout);
}

}  // namespace

void TextPrinter::PrintInstruction(InstructionId id) {
  const Instruction& i = module_[id];
  if (!options_.canonical_names) {
    PrintName(module_[i.name]);
    sink_.Append(" = ");
  } else if (in_computation_) {
    PrintCanonicalName(id);
    sink_.Append(" = ");
  }
  PrintShape(i.shape);
  sink_.Append(' ');
  const bool is_async = i.opcode == Opcode::kAsyncStart || i.opcode == Opcode::kAsyncUpdate ||
                        i.opcode == Opcode::kAsyncDone;
  ComputationId wrapped = is_async ? async().wrapped(id) : ComputationId();
  if (is_async && async().IsSugared(wrapped)) {
    sink_.Append(ToString(module_[module_[wrapped].root].opcode));
    sink_.Append(AsyncSuffix(i.opcode));
  } else {
    sink_.Append(ToString(i.opcode));
  }
  sink_.Append('(');
  PrintOperands(id, i);
  sink_.Append(')');
  if (wrapped.valid() && i.opcode == Opcode::kAsyncStart) {
    PrintAsyncStart(i, wrapped);
  } else {
    PrintRanks(i, 0, kEnd);
  }
}

// The wrapped instruction's attributes stand inside those of the async-start. What is common to all
// opcodes stands twice in XLA's print where both have it, which no reader takes.
void TextPrinter::PrintAsyncStart(const Instruction& i, ComputationId wrapped) {
  PrintRanks(i, 0, 1);
  if (async().IsSugared(wrapped)) {
    const Instruction& root = module_[module_[wrapped].root];
    if (options_.lossless) {
      PrintRanks(root, 0, kCommon);
      PrintRanks(root, kResultAccuracyRank, kResultAccuracyRank + 1);
    } else if (module_.Find(i, AttributeKey::kFrontendAttributes) == nullptr) {
      PrintRanks(root, 0, kFirstOfWhole);
    } else {
      PrintRanks(root, 0, kFrontendRank);
      PrintRanks(root, kFrontendRank + 1, kFirstOfWhole);
    }
  }
  PrintRanks(i, 1, kEnd);
}

void TextPrinter::PrintOperands(InstructionId id, const Instruction& i) {
  if (i.opcode == Opcode::kParameter) {
    sink_.Append(module_.GetInt(i, AttributeKey::kParameterNumber));
    return;
  }
  if (i.opcode == Opcode::kConstant) {
    PrintConstant(id, i);
    return;
  }
  int64_t index = 0;
  for (InstructionId operand : module_.operands(i)) {
    if (index > 0) sink_.Append(", ");
    if (index > 0 && options_.index_annotations && index % 5 == 0) {
      sink_.Append("/*index=");
      sink_.Append(index);
      sink_.Append("*/");
    }
    ++index;
    if (options_.operand_shapes) PrintShape(module_[operand].shape);
    if (!options_.canonical_names) {
      PrintName(module_.name(operand));
    } else if (in_computation_) {
      sink_.Append(' ');
      PrintCanonicalName(operand);
    }
  }
}

void TextPrinter::PrintConstant(InstructionId id, const Instruction& i) {
  const Literal* literal = module_.Get<Literal>(i, AttributeKey::kConstantValue);
  const Shape& shape = module_[i.shape];
  bool large = !shape.IsArray() || shape.ElementCount().value_or(11) > 10;
  if (literal == nullptr || (large && !options_.large_constants)) {
    sink_.Append("{...}");
    return;
  }
  if (literal->elided()) {
    PrintInvented(id);
    return;
  }
  sink_.Through([&](std::string& out) { AppendLiteral(out, *literal, false, options_.lossless); });
}

void TextPrinter::PrintInvented(InstructionId id) {
  if (!options_.lossless && !invented_) invented_.emplace(module_);
  std::optional<Literal> literal = options_.lossless ? std::nullopt : (*invented_)[id];
  if (!literal) {
    sink_.Append("{...}");
  } else {
    sink_.Through([&](std::string& out) { AppendLiteral(out, *literal, false); });
  }
}

void TextPrinter::PrintCanonicalName(InstructionId id) {
  uint32_t& number = canonical_[id.index];
  if (number == kNone) number = next_canonical_++;
  sink_.Append("tmp_");
  sink_.Append(int64_t{number});
}

std::string_view TextPrinter::ShapeText(ShapeId id, bool layouts) {
  std::vector<Slice>& known = layouts ? shape_texts_ : plain_shape_texts_;
  if (known.empty() && keeps_texts_) known.resize(module_.shape_count());
  Slice fresh;
  Slice& text = keeps_texts_ ? known[id.index] : fresh;
  if (text.size == 0) {
    text.offset = static_cast<uint32_t>(texts_.size());
    const Shape& shape = module_[id];
    if (layouts && LacksLayout(shape)) {
      AppendTo(texts_, shape.WithDefaultLayouts());  // as XLA's reader does
    } else {
      AppendTo(texts_, shape, layouts);
    }
    text.size = static_cast<uint32_t>(texts_.size()) - text.offset;
  }
  return std::string_view(texts_).substr(text.offset, text.size);
}

void TextPrinter::PrintRanks(const Instruction& i, uint32_t from, uint32_t to) {
  const OpcodeOrder& order = RanksOf(i.opcode);
  if (i.attribute_count == 0 && order.always_count == 0) return;
  struct Place {
    uint32_t rank;
    const Attribute* attribute;
  };
  std::array<Place, 24> few;
  std::vector<Place> many;
  std::span<const Attribute> attributes = module_.attributes(i);
  size_t capacity = attributes.size() + order.always_count;
  if (capacity > few.size()) many.resize(capacity);
  Place* places = capacity > few.size() ? many.data() : few.data();
  size_t count = 0;
  auto add = [&](uint32_t rank, const Attribute* attribute) {
    if (rank < from || rank >= to) return;
    size_t at = count++;
    for (; at > 0 && places[at - 1].rank > rank; --at) places[at] = places[at - 1];
    places[at] = {rank, attribute};
  };
  std::span<const AttributeUse> uses = Info(i.opcode).attributes;
  for (uint8_t k = 0; k < order.always_count; ++k) {
    if (module_.Find(i, uses[order.always[k]].key) == nullptr) add(order.always[k], nullptr);
  }
  for (const Attribute& a : attributes) add(order.rank[static_cast<size_t>(a.key)], &a);
  for (size_t k = 0; k < count; ++k) {
    if (places[k].attribute == nullptr) {
      PrintAbsent(i, uses[places[k].rank].key);
    } else {
      PrintAttribute(i, *places[k].attribute);
    }
  }
}

}  // namespace hloscope::hlo
