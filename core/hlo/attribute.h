// The values attributes may have, beyond numbers, strings and lists. Stored in typed pools of a
// module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/id.h"
#include "core/hlo/opcode.h"
#include "core/hlo/sharding.h"

namespace hloscope::hlo {

using StringId = Id<struct StringTag>;  // interned text of a module
using ShapeId = Id<struct ShapeTag>;
using InstructionId = Id<struct InstructionTag>;
using ComputationId = Id<struct ComputationTag>;

// One attribute of an instruction. What `value` means depends on Info(key).kind: the number itself,
// an id, the start of a length-prefixed list, or an index into the pool of that kind's type.
struct Attribute {
  AttributeKey key;
  bool wide = false;  // kInt: value is an index into the integer pool, not the number
  uint32_t value = 0;
};

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;   // rhs_dilate
  int64_t base_dilation = 1;     // lhs_dilate
  bool window_reversal = false;  // rhs_reversal
  bool operator==(const WindowDimension&) const = default;
};
struct Window {
  std::vector<WindowDimension> dimensions;
  bool operator==(const Window&) const = default;
};

// dim_labels=b01f_01io->b01f: the position of each role in lhs, rhs and output.
struct ConvolutionDims {
  int64_t input_batch = 0, input_feature = 0;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  int64_t output_batch = 0, output_feature = 0;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
  bool operator==(const ConvolutionDims&) const = default;
};

struct Domain {
  std::string kind;
  Sharding entry, exit;
  bool operator==(const Domain&) const = default;
};

// key="value" or key={json}; sorted by key.
struct FrontendAttribute {
  StringId key;
  StringId value;
  bool json = false;  // the value is printed without quotes
  bool operator==(const FrontendAttribute&) const = default;
};
struct FrontendAttributes {
  std::vector<FrontendAttribute> entries;
  bool operator==(const FrontendAttributes&) const = default;
};

// {output index}: (operand, {operand index})
struct OutputOperandAlias {
  std::vector<int64_t> output_index;
  int64_t operand = 0;
  std::vector<int64_t> operand_index;
  bool operator==(const OutputOperandAlias&) const = default;
};
struct OutputOperandAliasing {
  std::vector<OutputOperandAlias> entries;
  bool operator==(const OutputOperandAliasing&) const = default;
};

struct Statistics {
  int64_t visualizing_index = 0;
  std::vector<std::pair<std::string, double>> values;
  bool operator==(const Statistics&) const = default;
};

// origin={…}: for each leaf of the shape, the array of an earlier module version it is, if known.
struct OriginalArray {
  std::string instruction;
  std::vector<int64_t> index;
  bool operator==(const OriginalArray&) const = default;
};
struct OriginalValue {
  struct Node {  // a leaf, or a tuple of nodes (never nested deeper than Limits::nesting)
    bool is_tuple = false;
    std::optional<OriginalArray> array;
    std::vector<Node> children;
    bool operator==(const Node&) const = default;
  };
  bool synthetic_call = false;  // origin=[synthetic_call]
  Node root;
  bool operator==(const OriginalValue&) const = default;
};

struct ResultAccuracy {
  enum class Mode : uint8_t { kDefault, kHighest, kTolerance };
  Mode mode = Mode::kDefault;
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  bool operator==(const ResultAccuracy&) const = default;
};

// metadata={…}; strings that are absent are invalid ids, numbers that are absent 0.
struct OpMetadata {
  StringId op_type, op_name, source_file, deduplicated_name, scheduling_name;
  int32_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  int32_t stack_frame_id = 0;
  StringId profile_type;      // profile_type={…}, verbatim between the braces
  StringId metadata_payload;  // verbatim
  StringId unknown;           // entries nobody knows, verbatim
  bool preserve_layout = false;
  bool operator==(const OpMetadata&) const = default;
};

// backend_config={json} or ="opaque".
struct BackendConfig {
  StringId text;
  bool json = false;  // written without quotes
  bool operator==(const BackendConfig&) const = default;
};

// Something kept verbatim: the attribute's name and the text after `=`.
struct RawAttribute {
  StringId name;
  StringId text;
  uint32_t offset = 0;     // in the source text
  bool misplaced = false;  // the name is known, but this opcode does not take it
  bool operator==(const RawAttribute&) const = default;
};

}  // namespace hloscope::hlo
