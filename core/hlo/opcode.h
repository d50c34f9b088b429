// Opcode, AttributeKey and the facts of opcodes.def, attributes.def and enums.def about each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hloscope::hlo {

enum class Opcode : uint8_t {
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) name,
#include "core/hlo/opcodes.def"
#undef OPCODE
};
inline constexpr int kOpcodeCount = 0
#define OPCODE(...) +1
#include "core/hlo/opcodes.def"
#undef OPCODE
    ;

enum class AttributeKey : uint8_t {
#define ATTRIBUTE(key, text, kind) key,
#include "core/hlo/attributes.def"
#undef ATTRIBUTE
};
inline constexpr int kAttributeKeyCount = 0
#define ATTRIBUTE(...) +1
#include "core/hlo/attributes.def"
#undef ATTRIBUTE
    ;

// How the value of an attribute is stored in a module (attribute.h has the types).
enum class ValueKind : uint8_t {
  kBool,                // inline
  kInt,                 // inline where it fits 32 bits, else the integer pool
  kFloat,               // float bits inline
  kEnum,                // proto number inline; EnumTable(key) has the texts
  kString,              // StringId
  kInts,                // list in the integer pool, {1,2}
  kBools,               // list of 0/1 in the integer pool, {true,false}
  kEnums,               // list of proto numbers in the integer pool, {default,high}
  kPairs,               // flattened pairs in the integer pool, {{0,1},{1,2}}
  kPadding,             // low, high, interior per dimension in the integer pool, 0_1_2x0_0
  kSlices,              // start, limit, stride per dimension in the integer pool, {[0:2],[1:9:2]}
  kComputation,         // ComputationId
  kComputations,        // list in the id pool
  kInstructions,        // list of InstructionId in the id pool
  kShape,               // ShapeId
  kShapes,              // list of ShapeId in the id pool
  kLiteral,             // Literal
  kWindow,              // Window
  kDimLabels,           // ConvolutionDims
  kDeviceList,          // DeviceList
  kSharding,            // Sharding
  kDomain,              // Domain
  kFrontendAttributes,  // FrontendAttributes
  kAliasing,            // OutputOperandAliasing
  kStatistics,          // Statistics
  kOriginalValue,       // OriginalValue
  kResultAccuracy,      // ResultAccuracy
  kMetadata,            // OpMetadata
  kBackendConfig,       // BackendConfig
  kRaw,                 // RawAttribute: name and text
};

enum class Category : uint8_t {
  kElementwise,
  kDataMovement,
  kContraction,
  kReduction,
  kNormalization,
  kLinearAlgebra,
  kSort,
  kSource,
  kTuple,
  kControl,
  kFusion,
  kCollective,
  kHostTransfer,
  kDynamic,
  kCustomCall,
};

// Bits of OpcodeInfo::flags.
enum OpcodeFlag : uint16_t {
  kFlagElementwise =
      1,  // one result element depends on the same element of every (non-scalar) operand
  kFlagCommutative = 2,
  kFlagCollective = 4,
  kFlagCalls = 8,  // has called computations
  kFlagSideEffect = 16,
  kFlagStart = 32,  // begins an asynchronous pair
  kFlagDone = 64,   // ends one
};

// The rule that checks or infers the result shape; see shape_inference.h.
enum class ShapeRule : uint8_t {
#define SHAPE_RULE(name, function) k##name,
#include "core/hlo/shape_rules.def"
#undef SHAPE_RULE
};

struct AttributeUse {
  AttributeKey key;
  bool required;
  bool always_printed = false;  // XLA prints it even where the text had none
};

struct OpcodeInfo {
  std::string_view text;
  int arity;  // -1: variadic
  ShapeRule shape_rule;
  Category category;
  uint16_t flags;
  std::span<const AttributeUse> attributes;  // in XLA's print order; the common ones not included
};

struct AttributeInfo {
  std::string_view text;
  ValueKind kind;
};

struct EnumValue {
  std::string_view text;
  int32_t number;  // in XLA's protos
};

const OpcodeInfo& Info(Opcode opcode);
inline std::string_view ToString(Opcode opcode) { return Info(opcode).text; }
inline bool HasFlag(Opcode opcode, OpcodeFlag flag) { return (Info(opcode).flags & flag) != 0; }
// The opcode called `text`; nullopt where there is none. O(1).
std::optional<Opcode> OpcodeFromText(std::string_view text);

const AttributeInfo& Info(AttributeKey key);
// True for the attributes every opcode may have.
constexpr bool IsCommon(AttributeKey key) { return key >= AttributeKey::kSharding; }
// The attribute called `text` that `opcode` takes (its own first, then the common ones); nullopt
// where there is none.
std::optional<AttributeKey> AttributeFromText(Opcode opcode, std::string_view text);
// The values of an enum attribute (kEnum and kEnums), in proto order; empty for other kinds.
std::span<const EnumValue> EnumTable(AttributeKey key);
// Text of value `number` of an enum attribute; empty where there is none.
std::string_view EnumText(AttributeKey key, int64_t number);
std::optional<int32_t> EnumNumber(AttributeKey key, std::string_view text);

#define ENUM_BEGIN(type) enum class type : uint8_t {
#define ENUM_VALUE(name, text, number) name = number,
#define ENUM_END() \
  }                \
  ;
#include "core/hlo/enums.def"
#undef ENUM_BEGIN
#undef ENUM_VALUE
#undef ENUM_END

}  // namespace hloscope::hlo
