// Attributes: which are left out, and the values that are numbers, names and lists.
#include <algorithm>
#include <unordered_set>

#include "core/hlo/comparison.h"
#include "core/hlo/text/body_names.h"
#include "core/hlo/text/text_printer.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

using enum AttributeKey;

constexpr std::string_view kPrefixes[] = {
#define ATTRIBUTE(key, text, kind) std::string_view(", " text "="),
#include "core/hlo/attributes.def"
#undef ATTRIBUTE
};

bool AllZero(std::span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

bool IsRequired(Opcode opcode, AttributeKey key) {
  for (const AttributeUse& use : Info(opcode).attributes) {
    if (use.key == key) return use.required || use.always_printed;
  }
  return false;
}

std::string_view BodyPrefix(Opcode opcode, AttributeKey key) {
  return PrintsBodyAsCalls(opcode) ? ", calls=" : kPrefixes[static_cast<size_t>(key)];
}

}  // namespace

const TextPrinter::ValuePrinter TextPrinter::kValuePrinters[] = {
    &TextPrinter::PrintBool,          // kBool
    &TextPrinter::PrintInt,           // kInt
    &TextPrinter::PrintFloat,         // kFloat
    &TextPrinter::PrintEnum,          // kEnum
    &TextPrinter::PrintStringValue,   // kString
    &TextPrinter::PrintInts,          // kInts
    &TextPrinter::PrintBools,         // kBools
    &TextPrinter::PrintEnums,         // kEnums
    &TextPrinter::PrintPairs,         // kPairs
    &TextPrinter::PrintPadding,       // kPadding
    &TextPrinter::PrintSlices,        // kSlices
    nullptr,                          // kComputation: PrintCalls
    nullptr,                          // kComputations: PrintCalls
    &TextPrinter::PrintInstructions,  // kInstructions
    &TextPrinter::PrintShapeValue,    // kShape
    &TextPrinter::PrintShapes,        // kShapes
    &TextPrinter::PrintLiteralValue,  // kLiteral
    &TextPrinter::PrintWindow,        // kWindow
    &TextPrinter::PrintDimLabels,     // kDimLabels
    &TextPrinter::PrintDevices,       // kDeviceList
    &TextPrinter::PrintSharding,      // kSharding
    &TextPrinter::PrintDomain,        // kDomain
    &TextPrinter::PrintFrontendAttributes,
    &TextPrinter::PrintAliasing,       // kAliasing
    &TextPrinter::PrintStatistics,     // kStatistics
    &TextPrinter::PrintOriginalValue,  // kOriginalValue
    &TextPrinter::PrintResultAccuracy,
    &TextPrinter::PrintMetadata,       // kMetadata
    &TextPrinter::PrintBackendConfig,  // kBackendConfig
    &TextPrinter::PrintRaw,            // kRaw
};

void TextPrinter::PrintAttribute(const Instruction& i, const Attribute& a) {
  if (IsOmitted(i, a)) return;
  ValueKind kind = Info(a.key).kind;
  if (kind == ValueKind::kComputation || kind == ValueKind::kComputations) {
    PrintCalls(i, a);
    return;
  }
  if (a.key != kUnknown) sink_.Append(kPrefixes[static_cast<size_t>(a.key)]);
  (this->*kValuePrinters[static_cast<size_t>(kind)])(i, a);
}

std::string_view TextPrinter::ValueTextOf(const Instruction& i, const Attribute& a) {
  sink_.Clear();
  const ValuePrinter print = kValuePrinters[static_cast<size_t>(Info(a.key).kind)];
  if (print != nullptr) (this->*print)(i, a);
  return sink_.From(0);
}

// What XLA prints where the text had nothing.
void TextPrinter::PrintAbsent(const Instruction& i, AttributeKey key) {
  sink_.Append(kPrefixes[static_cast<size_t>(key)]);
  if (key == kLargest) {
    sink_.Append("true");
  } else if (key == kIsAssociative) {
    sink_.Append("false");
  } else if (key == kOutfeedShape && i.operand_count > 0) {
    PrintShape(module_[module_.operands(i)[0]].shape);
  } else if (i.opcode == Opcode::kMap) {
    PrintMapDimensions(i);
  } else {
    sink_.Append("{}");
  }
}

// XLA does not keep the dimensions of a map: they are always all of them.
void TextPrinter::PrintMapDimensions(const Instruction& i) {
  std::vector<int64_t> all(module_[i.shape].rank());
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
  PrintIntList(all);
}

bool TextPrinter::IsOmitted(const Instruction& i, const Attribute& a) {
  switch (Info(a.key).kind) {
    case ValueKind::kBool:
      // topk is stable unless it says otherwise.
      if (options_.lossless && i.opcode == Opcode::kTopK) return false;
      return a.value == 0 && !IsRequired(i.opcode, a.key);
    case ValueKind::kInt:
      return IsOmittedInt(a);
    case ValueKind::kEnum:
      return IsOmittedEnum(i, a);
    case ValueKind::kString:
      return IsOmittedString(a);
    case ValueKind::kInts:
      // XLA reads the dimensions of a ragged-all-to-all and forgets them.
      if (i.opcode == Opcode::kRaggedAllToAll && !options_.lossless) return true;
      return module_.IntsOf(a).empty() && !IsRequired(i.opcode, a.key);
    case ValueKind::kEnums:
      return AllZero(module_.IntsOf(a)) && !options_.lossless;
    case ValueKind::kComputation:
    case ValueKind::kComputations:
      return IsOmittedCall(i, a);
    case ValueKind::kInstructions:
      return !options_.control_predecessors || module_.IdsOf(a).empty();
    case ValueKind::kWindow:
      return module_.Of<Window>(a).dimensions.empty() && i.opcode != Opcode::kCustomCall;
    case ValueKind::kFrontendAttributes:
      return module_.Of<FrontendAttributes>(a).entries.empty();
    case ValueKind::kAliasing:
      return module_.Of<OutputOperandAliasing>(a).entries.empty() || IsLaterAsync(i);
    case ValueKind::kStatistics:
      return module_.Of<Statistics>(a).values.empty();
    case ValueKind::kResultAccuracy:
      return module_.Of<ResultAccuracy>(a).mode == ResultAccuracy::Mode::kDefault;
    case ValueKind::kMetadata:
      return !options_.metadata || IsOmittedMetadata(module_.Of<OpMetadata>(a));
    case ValueKind::kBackendConfig:
      return !options_.backend_config || module_[module_.Of<BackendConfig>(a).text].empty();
    case ValueKind::kRaw:
      return a.key == kUnknown && !options_.lossless;
    default:
      return false;
  }
}

// What follows an async-start says nothing of its own.
bool TextPrinter::IsLaterAsync(const Instruction& i) {
  return i.opcode == Opcode::kAsyncUpdate || i.opcode == Opcode::kAsyncDone;
}

bool TextPrinter::IsOmittedInt(const Attribute& a) {
  switch (a.key) {
    case kFeatureGroupCount:
    case kBatchGroupCount:
      return module_.IntOf(a) == 1;
    case kInferredDimension:
      return module_.IntOf(a) == -1;
    default:
      return false;
  }
}

bool TextPrinter::IsOmittedEnum(const Instruction& i, const Attribute& a) {
  switch (a.key) {
    case kAlgorithm:
    case kConvolutionKind:
    case kCustomCallSchedule:
    case kPaddingType:
    case kTransposeA:
      return a.value == 0;
    case kApiVersion:
      return a.value == static_cast<uint32_t>(CustomCallApiVersion::kOriginal);
    case kComparisonType: {
      if (i.operand_count == 0 || options_.lossless) return false;
      ElementType type = module_.shape(module_.operands(i)[0]).element_type();
      return a.value == static_cast<uint32_t>(DefaultComparisonType(type));
    }
    case kOrder:
      return !options_.lossless;
    default:
      return false;
  }
}

bool TextPrinter::IsOmittedString(const Attribute& a) {
  std::string_view text = module_[StringId(a.value)];
  switch (a.key) {
    case kAsyncExecutionThread:
      return text == "main";
    case kInfeedConfig:
    case kOutfeedConfig:
      return text.empty();
    case kMode:
      return !options_.lossless;  // read and forgotten
    default:
      return false;
  }
}

bool TextPrinter::IsOmittedCall(const Instruction& i, const Attribute& a) {
  if (i.opcode == Opcode::kAsyncStart) {
    return !options_.full_bodies && async().IsSugared(ComputationId(a.value));
  }
  if (i.opcode == Opcode::kAsyncUpdate || i.opcode == Opcode::kAsyncDone) {
    return !options_.lossless || i.operand_count == 0 ||
           async().wrapped(module_.operands(i)[0]).valid();  // an operand of the chain has it
  }
  if (i.opcode != Opcode::kCustomCall) return false;
  if (a.key == kCalledComputations && module_.IdsOf(a).empty()) return true;
  // XLA drops the computations of a custom call with operand layouts.
  return !options_.lossless && module_.Find(i, kOperandLayoutConstraints) != nullptr;
}

void TextPrinter::PrintCalls(const Instruction& i, const Attribute& a) {
  std::span<const uint32_t> callees(&a.value, 1);
  if (Info(a.key).kind == ValueKind::kComputations) callees = module_.IdsOf(a);
  if (i.opcode == Opcode::kConditional && !options_.lossless) {
    PrintBranches(i, a, callees);
    return;
  }
  // XLA knows the computations of a custom call by one name only.
  AttributeKey key = a.key;
  if (i.opcode == Opcode::kCustomCall && !options_.lossless) key = kCalledComputations;
  if (Info(key).kind == ValueKind::kComputations) {
    PrintCalleeList(key, callees);
    return;
  }
  sink_.Append(options_.full_bodies ? BodyPrefix(i.opcode, key)
                                    : kPrefixes[static_cast<size_t>(key)]);
  if (options_.full_bodies) sink_.Append('\n');
  PrintCallees(callees, {});
}

void TextPrinter::PrintCalleeList(AttributeKey key, std::span<const uint32_t> callees) {
  sink_.Append(kPrefixes[static_cast<size_t>(key)]);
  sink_.Append('{');
  if (options_.full_bodies) sink_.Append('\n');
  PrintCallees(callees, options_.full_bodies ? ",\n" : ", ");
  if (options_.full_bodies) sink_.Append('\n');
  sink_.Append('}');
}

// Whether a conditional has branch_computations or a true and a false one depends on its first
// operand, not on how the text had it.
void TextPrinter::PrintBranches(const Instruction& i, const Attribute& a,
                                std::span<const uint32_t> given) {
  std::vector<uint32_t> callees(given.begin(), given.end());
  bool by_predicate = i.operand_count > 0 &&
                      module_.shape(module_.operands(i)[0]).element_type() == ElementType::kPred;
  if (a.key == kFalseComputation && !by_predicate) return;  // printed with the true one
  if (a.key == kTrueComputation && !by_predicate) {
    ComputationId other = module_.GetComputation(i, kFalseComputation);
    if (other.valid()) callees.push_back(other.index);
  }
  if (!by_predicate || callees.size() > 2) {
    PrintCalleeList(kBranchComputations, callees);
    return;
  }
  AttributeKey key = a.key == kBranchComputations ? kTrueComputation : a.key;
  for (uint32_t& callee : callees) {
    sink_.Append(kPrefixes[static_cast<size_t>(key)]);
    if (options_.full_bodies) sink_.Append('\n');
    PrintCallees(std::span(&callee, 1), {});
    key = kFalseComputation;
  }
}

void TextPrinter::PrintCallees(std::span<const uint32_t> callees, std::string_view separator) {
  bool first = true;
  for (uint32_t callee : callees) {
    if (!first) sink_.Append(separator);
    first = false;
    if (!options_.full_bodies) {
      PrintName(module_[module_[ComputationId(callee)].name]);
    } else if (bodies_[callee].empty() || bodies_[callee].size() > body_budget_) {
      sink_.Append("{...}");
    } else {
      PrintIndented(bodies_[callee]);
    }
  }
}

void TextPrinter::PrintBool(const Instruction&, const Attribute& a) {
  sink_.Append(std::string_view(a.value != 0 ? "true" : "false"));
}

void TextPrinter::PrintInt(const Instruction&, const Attribute& a) {
  sink_.Append(module_.IntOf(a));
}

void TextPrinter::PrintFloat(const Instruction&, const Attribute& a) {
  PrintNumber(static_cast<float>(module_.FloatOf(a)));
}

void TextPrinter::PrintEnum(const Instruction&, const Attribute& a) {
  sink_.Append(EnumText(a.key, static_cast<int32_t>(a.value)));
}

void TextPrinter::PrintStringValue(const Instruction&, const Attribute& a) {
  PrintQuoted(module_[StringId(a.value)]);
}

void TextPrinter::PrintInts(const Instruction& i, const Attribute& a) {
  if (i.opcode == Opcode::kMap && !options_.lossless) {
    PrintMapDimensions(i);
  } else {
    PrintIntList(module_.IntsOf(a));
  }
}

void TextPrinter::PrintBools(const Instruction&, const Attribute& a) {
  sink_.Append('{');
  bool first = true;
  for (int64_t value : module_.IntsOf(a)) {
    if (!first) sink_.Append(',');
    first = false;
    sink_.Append(std::string_view(value != 0 ? "true" : "false"));
  }
  sink_.Append('}');
}

void TextPrinter::PrintEnums(const Instruction&, const Attribute& a) {
  sink_.Append('{');
  bool first = true;
  for (int64_t value : module_.IntsOf(a)) {
    if (!first) sink_.Append(',');
    first = false;
    sink_.Append(EnumText(a.key, value));
  }
  sink_.Append('}');
}

void TextPrinter::PrintPairs(const Instruction&, const Attribute& a) {
  std::span<const int64_t> pairs = module_.IntsOf(a);
  sink_.Append('{');
  for (size_t k = 0; k + 1 < pairs.size(); k += 2) {
    if (k > 0) sink_.Append(',');
    PrintIntList(pairs.subspan(k, 2));
  }
  sink_.Append('}');
}

// low_high of each dimension; _interior behind every one if any has some.
void TextPrinter::PrintPadding(const Instruction&, const Attribute& a) {
  std::span<const int64_t> values = module_.IntsOf(a);
  bool interior = false;
  for (size_t k = 2; k < values.size(); k += 3) interior |= values[k] != 0;
  for (size_t k = 0; k + 2 < values.size(); k += 3) {
    if (k > 0) sink_.Append('x');
    sink_.Append(values[k]);
    sink_.Append('_');
    sink_.Append(values[k + 1]);
    if (!interior) continue;
    sink_.Append('_');
    sink_.Append(values[k + 2]);
  }
}

// [start:limit] of each dimension; :stride behind every one if any is not 1.
void TextPrinter::PrintSlices(const Instruction&, const Attribute& a) {
  std::span<const int64_t> values = module_.IntsOf(a);
  bool strides = false;
  for (size_t k = 2; k < values.size(); k += 3) strides |= values[k] != 1;
  sink_.Append('{');
  for (size_t k = 0; k + 2 < values.size(); k += 3) {
    sink_.Append(std::string_view(k > 0 ? ", [" : "["));
    sink_.Append(values[k]);
    sink_.Append(':');
    sink_.Append(values[k + 1]);
    if (strides) {
      sink_.Append(':');
      sink_.Append(values[k + 2]);
    }
    sink_.Append(']');
  }
  sink_.Append('}');
}

// XLA keeps a control predecessor that is named twice once.
void TextPrinter::PrintInstructions(const Instruction&, const Attribute& a) {
  std::unordered_set<uint32_t> printed;
  sink_.Append('{');
  for (uint32_t id : module_.IdsOf(a)) {
    if (!printed.insert(id).second) continue;
    if (printed.size() > 1) sink_.Append(", ");
    PrintName(module_.name(InstructionId(id)));
  }
  sink_.Append('}');
}

void TextPrinter::PrintShapeValue(const Instruction&, const Attribute& a) {
  PrintShape(ShapeId(a.value));
}

void TextPrinter::PrintShapes(const Instruction&, const Attribute& a) {
  sink_.Append('{');
  bool first = true;
  for (uint32_t id : module_.IdsOf(a)) {
    if (!first) sink_.Append(", ");
    first = false;
    PrintShape(ShapeId(id));
  }
  sink_.Append('}');
}

void TextPrinter::PrintLiteralValue(const Instruction&, const Attribute& a) {
  const Literal& literal = module_.Of<Literal>(a);
  sink_.Through([&](std::string& out) { AppendShapedLiteral(out, literal, options_.lossless); });
}

void TextPrinter::PrintRaw(const Instruction&, const Attribute& a) {
  const RawAttribute& raw = module_.Of<RawAttribute>(a);
  if (a.key == kUnknown) {
    sink_.Append(", ");
    sink_.Append(module_[raw.name]);
    sink_.Append('=');
  }
  sink_.Append(module_[raw.text]);
}

void TextPrinter::PrintIntList(std::span<const int64_t> values) {
  sink_.Append('{');
  bool first = true;
  for (int64_t value : values) {
    if (!first) sink_.Append(',');
    first = false;
    sink_.Append(value);
  }
  sink_.Append('}');
}

}  // namespace hloscope::hlo
