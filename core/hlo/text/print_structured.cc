// Attributes whose value is a struct: windows, shardings, metadata and the like.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/hlo/text/text_cursor.h"
#include "core/hlo/text/text_printer.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kMaxLabels = 1024;

template <typename Value>
bool Any(const Window& window, Value WindowDimension::* member, Value usual) {
  for (const WindowDimension& d : window.dimensions) {
    if (d.*member != usual) return true;
  }
  return false;
}

// The high bit of every byte of `word` that is `c`; bits above the first such byte mean nothing.
uint64_t BytesEqual(uint64_t word, char c) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  uint64_t x = word ^ (kOnes * static_cast<uint8_t>(c));
  return (x - kOnes) & ~x;
}

// True if a byte of `text` has to be written as a C escape: a quote, a backslash, or anything but
// printable ASCII. Looks at eight bytes at a time.
bool NeedsEscape(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  constexpr uint64_t kSpaces = 0x2020202020202020u;
  uint64_t found = 0;
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = kSpaces;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    found |= word | (word - kSpaces) | BytesEqual(word, 0x7f) | BytesEqual(word, '"') |
             BytesEqual(word, '\'') | BytesEqual(word, '\\');
  }
  return (found & kHighBits) != 0;
}

}  // namespace

void TextPrinter::PrintEscaped(std::string_view text) {
  if (!NeedsEscape(text)) {
    sink_.Append(text);
  } else {
    sink_.Through([&](std::string& out) { AppendEscaped(out, text); });
  }
}

void TextPrinter::PrintQuoted(std::string_view text) {
  sink_.Append('"');
  PrintEscaped(text);
  sink_.Append('"');
}

// XLA prints them without quotes whatever they are, and then does not read its own text.
void TextPrinter::PrintNameOrString(std::string_view text) {
  TextCursor::IsIdentifier(text) ? sink_.Append(text) : PrintQuoted(text);
}

// XLA prints six digits of numbers in attributes, which need not read back as they were.
template <typename Number>
void TextPrinter::PrintNumber(Number value) {
  char buffer[64];
  std::to_chars_result result =
      options_.lossless
          ? std::to_chars(buffer, buffer + sizeof buffer, value)
          : std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 6);
  sink_.Append(std::string_view(buffer, static_cast<size_t>(result.ptr - buffer)));
}
template void TextPrinter::PrintNumber(float value);
template void TextPrinter::PrintNumber(double value);

void TextPrinter::PrintWindow(const Instruction&, const Attribute& a) {
  const Window& window = module_.Of<Window>(a);
  bool first_field = true;
  auto field = [&](std::string_view name, auto&& print) {
    if (!first_field) sink_.Append(' ');
    first_field = false;
    sink_.Append(name);
    bool first = true;
    for (const WindowDimension& d : window.dimensions) {
      if (!first) sink_.Append('x');
      first = false;
      print(d);
    }
  };
  auto numbers = [&](std::string_view name, int64_t WindowDimension::* member) {
    if (Any<int64_t>(window, member, 1)) {
      field(name, [&](const WindowDimension& d) { sink_.Append(d.*member); });
    }
  };
  sink_.Append('{');
  if (!window.dimensions.empty()) {
    field("size=", [&](const WindowDimension& d) { sink_.Append(d.size); });
  }
  numbers("stride=", &WindowDimension::stride);
  if (Any<int64_t>(window, &WindowDimension::padding_low, 0) ||
      Any<int64_t>(window, &WindowDimension::padding_high, 0)) {
    field("pad=", [&](const WindowDimension& d) {
      sink_.Append(d.padding_low);
      sink_.Append('_');
      sink_.Append(d.padding_high);
    });
  }
  numbers("lhs_dilate=", &WindowDimension::base_dilation);
  numbers("rhs_dilate=", &WindowDimension::window_dilation);
  if (Any<bool>(window, &WindowDimension::window_reversal, false)) {
    field("rhs_reversal=",
          [&](const WindowDimension& d) { sink_.Append(d.window_reversal ? '1' : '0'); });
  }
  sink_.Append('}');
}

void TextPrinter::PrintDimLabels(const Instruction&, const Attribute& a) {
  const ConvolutionDims& dims = module_.Of<ConvolutionDims>(a);
  auto labels = [&](int64_t first, char first_label, int64_t second, char second_label,
                    const std::vector<int64_t>& spatial) {
    // A dimension without a role is a `?`, as long as there are others behind it.
    std::string text;
    auto put = [&](int64_t at, char label) {
      if (at < 0 || at >= kMaxLabels) return;
      auto place = static_cast<size_t>(at);
      if (text.size() <= place) text.resize(place + 1, '?');
      text[place] = label;
    };
    for (size_t k = 0; k < spatial.size(); ++k) put(spatial[k], static_cast<char>('0' + k % 10));
    put(first, first_label);
    put(second, second_label);
    sink_.Append(text);
  };
  labels(dims.input_batch, 'b', dims.input_feature, 'f', dims.input_spatial);
  sink_.Append('_');
  labels(dims.kernel_input_feature, 'i', dims.kernel_output_feature, 'o', dims.kernel_spatial);
  sink_.Append("->");
  labels(dims.output_batch, 'b', dims.output_feature, 'f', dims.output_spatial);
}

void TextPrinter::PrintDevices(const Instruction&, const Attribute& a) {
  sink_.Through([&](std::string& out) { AppendDeviceList(out, module_.Of<DeviceList>(a)); });
}

// XLA gives every leaf of a tuple its own sharding.
void TextPrinter::PrintSharding(const Instruction& i, const Attribute& a) {
  const Sharding& sharding = module_.Of<Sharding>(a);
  const Shape& shape = module_[i.shape];
  // XLA counts one leaf for a tuple sharding of the empty tuple.
  const bool repeats = shape.IsTuple() && sharding.kind != ShardingKind::kTuple;
  size_t copies = repeats ? std::max<size_t>(1, shape.LeafCount()) : 0;
  sink_.Through([&](std::string& out) {
    if (copies == 0) {
      AppendSharding(out, sharding, options_.metadata);
      return;
    }
    for (size_t k = 0; k < copies; ++k) {
      out += k == 0 ? "{" : ", ";
      AppendSharding(out, sharding, options_.metadata);
    }
    out += '}';
  });
}

void TextPrinter::PrintDomain(const Instruction&, const Attribute& a) {
  const Domain& domain = module_.Of<Domain>(a);
  sink_.Append("{kind=\"");
  sink_.Append(domain.kind);
  sink_.Append("\", entry=");
  sink_.Through([&](std::string& out) {
    AppendSharding(out, domain.entry, true);
    out += ", exit=";
    AppendSharding(out, domain.exit, true);
  });
  sink_.Append('}');
}

void TextPrinter::PrintFrontendAttributes(const Instruction&, const Attribute& a) {
  PrintFrontendMap(module_.Of<FrontendAttributes>(a));
}

void TextPrinter::PrintFrontendMap(const FrontendAttributes& map) {
  sink_.Append('{');
  bool first = true;
  for (const FrontendAttribute& entry : map.entries) {
    if (!first) sink_.Append(',');
    first = false;
    PrintNameOrString(module_[entry.key]);
    sink_.Append('=');
    PrintJsonOrString(module_[entry.value], entry.json);
  }
  sink_.Append('}');
}

void TextPrinter::PrintAliasing(const Instruction&, const Attribute& a) {
  sink_.Append('{');
  bool first = true;
  for (const OutputOperandAlias& alias : module_.Of<OutputOperandAliasing>(a).entries) {
    if (!first) sink_.Append(", ");
    first = false;
    PrintIntList(alias.output_index);
    sink_.Append(": (");
    sink_.Append(alias.operand);
    sink_.Append(", ");
    PrintIntList(alias.operand_index);
    sink_.Append(')');
  }
  sink_.Append('}');
}

void TextPrinter::PrintStatistics(const Instruction&, const Attribute& a) {
  const Statistics& statistics = module_.Of<Statistics>(a);
  sink_.Append("{visualizing_index=");
  sink_.Append(statistics.visualizing_index);
  for (const auto& [name, value] : statistics.values) {
    sink_.Append(',');
    PrintNameOrString(name);
    sink_.Append('=');
    PrintNumber(value);
  }
  sink_.Append('}');
}

// A tree of tuples in parentheses with arrays as leaves.
void TextPrinter::PrintOriginalValue(const Instruction&, const Attribute& a) {
  const OriginalValue& origin = module_.Of<OriginalValue>(a);
  if (origin.synthetic_call) {
    sink_.Append("{[synthetic_call]}");
    return;
  }
  struct Level {
    const OriginalValue::Node* tuple;
    size_t next;
  };
  std::vector<Level> open;
  const OriginalValue::Node* node = &origin.root;
  sink_.Append('{');
  while (node != nullptr) {
    if (node->is_tuple) {
      sink_.Append('(');
      open.push_back({node, 0});
    } else {
      PrintOriginalArray(*node);
    }
    node = nullptr;
    while (!open.empty() && node == nullptr) {
      Level& level = open.back();
      if (level.next == level.tuple->children.size()) {
        sink_.Append(')');
        open.pop_back();
        continue;
      }
      if (level.next > 0) sink_.Append(", ");
      node = &level.tuple->children[level.next++];
    }
  }
  sink_.Append('}');
}

void TextPrinter::PrintOriginalArray(const OriginalValue::Node& node) {
  sink_.Append('{');
  if (node.array) {
    PrintQuoted(node.array->instruction);
    if (!node.array->index.empty()) {
      sink_.Append(' ');
      PrintIntList(node.array->index);
    }
  }
  sink_.Append('}');
}

void TextPrinter::PrintResultAccuracy(const Instruction&, const Attribute& a) {
  const ResultAccuracy& accuracy = module_.Of<ResultAccuracy>(a);
  if (accuracy.mode != ResultAccuracy::Mode::kTolerance) {
    sink_.Append("{mode=highest}");
    return;
  }
  sink_.Append("{tolerance={atol=");
  PrintNumber(accuracy.atol);
  sink_.Append(",rtol=");
  PrintNumber(accuracy.rtol);
  sink_.Append(",ulps=");
  sink_.Append(accuracy.ulps);
  sink_.Append("}}");
}

int32_t TextPrinter::FrameNumber(const OpMetadata& m) const {
  return frames_ ? (*frames_)[m.stack_frame_id] : m.stack_frame_id;
}

bool TextPrinter::IsOmittedMetadata(const OpMetadata& m) {
  if (options_.lossless) return m == OpMetadata();
  return module_[m.op_type].empty() && module_[m.op_name].empty() &&
         module_[m.source_file].empty() && module_[m.scheduling_name].empty() &&
         module_[m.metadata_payload].empty() && FrameNumber(m) == 0;
}

void TextPrinter::PrintMetadata(const Instruction&, const Attribute& a) {
  if (keeps_texts_ && metadata_texts_.size() <= a.value) metadata_texts_.resize(a.value + 1);
  Slice fresh;
  Slice& text = keeps_texts_ ? metadata_texts_[a.value] : fresh;
  if (text.size == 0) {
    size_t start = sink_.size();
    sink_.Append('{');
    PrintMetadataFields(module_.Of<OpMetadata>(a));
    sink_.Append('}');
    text.offset = static_cast<uint32_t>(texts_.size());
    text.size = static_cast<uint32_t>(sink_.size() - start);
    texts_ += sink_.From(start);
  } else {
    sink_.Append(std::string_view(texts_).substr(text.offset, text.size));
  }
}

void TextPrinter::PrintMetadataFields(const OpMetadata& m) {
  std::string_view separator;
  auto begin = [&](std::string_view name) {
    sink_.Append(separator);
    sink_.Append(name);
    separator = " ";
  };
  auto text = [&](std::string_view name, StringId value) {
    if (module_[value].empty()) return;
    begin(name);
    PrintQuoted(module_[value]);
  };
  auto number = [&](std::string_view name, int64_t value) {
    if (value == 0) return;
    begin(name);
    sink_.Append(value);
  };
  text("op_type=", m.op_type);
  text("op_name=", m.op_name);
  text("source_file=", m.source_file);
  number("source_line=", m.source_line);
  number("source_end_line=", m.source_end_line);
  number("source_column=", m.source_column);
  number("source_end_column=", m.source_end_column);
  if (!module_[m.profile_type].empty()) {
    begin("profile_type={");
    sink_.Append(module_[m.profile_type]);
    sink_.Append('}');
  }
  text("deduplicated_name=", m.deduplicated_name);
  if (m.preserve_layout) begin("preserve_layout=true");
  text("scheduling_name=", m.scheduling_name);
  number("stack_frame_id=", FrameNumber(m));
  if (!module_[m.metadata_payload].empty()) {
    begin("metadata_payload=");
    sink_.Append(module_[m.metadata_payload]);
  }
  if (options_.lossless && !module_[m.unknown].empty()) begin(module_[m.unknown]);
}

void TextPrinter::PrintBackendConfig(const Instruction&, const Attribute& a) {
  const BackendConfig& config = module_.Of<BackendConfig>(a);
  PrintJsonOrString(module_[config.text], config.json);
}

// XLA leaves the quotes away wherever its reader can do without.
void TextPrinter::PrintJsonOrString(std::string_view text, bool json) {
  if (json || IsJsonDict(text)) {
    sink_.Append(text);
  } else {
    PrintQuoted(text);
  }
}

}  // namespace hloscope::hlo
