// Attributes whose value is a struct: windows, shardings, metadata and their like.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {

template <typename T>
bool TextParser::Cached(AttributeKey key, bool (TextParser::*read)(T&)) {
  cursor_.SkipSpace();
  const char* start = cursor_.position();
  auto tag = static_cast<uint64_t>(key);
  std::string_view slice;
  uint64_t hash = 0;
  if (cursor_.Peek() == '{') {
    slice = cursor_.ReadGroup().value_or(std::string_view());
    hash = SliceCache::Hash(tag, slice);
    if (const uint32_t* known = cache_.Find(hash, tag, slice)) {
      Push({key, false, *known});
      return true;
    }
    cursor_.set_position(start);
  }
  T value;
  if (!(this->*read)(value)) return false;
  Attribute attribute = builder_.Make(key, std::move(value));
  if (cursor_.Since(start).size() == slice.size()) {
    cache_.Insert(hash, tag, slice, attribute.value);
  }
  Push(attribute);
  return true;
}

bool TextParser::ReadWindow(Draft&, AttributeKey key) {
  return Cached<Window>(key, &TextParser::ParseWindow);
}
bool TextParser::ReadDevices(Draft&, AttributeKey key) {
  return Cached<DeviceList>(key, &TextParser::ParseDevices);
}
bool TextParser::ReadShardingValue(Draft&, AttributeKey key) {
  return Cached<Sharding>(key, &TextParser::ParseSharding);
}
bool TextParser::ReadFrontendAttributes(Draft&, AttributeKey key) {
  return Cached<FrontendAttributes>(key, &TextParser::ReadFrontendMap);
}
bool TextParser::ReadMetadata(Draft&, AttributeKey key) {
  return Cached<OpMetadata>(key, &TextParser::ParseMetadata);
}

bool TextParser::ParseSharding(Sharding& sharding) {
  return Take(ReadSharding(cursor_, limits_), sharding);
}
bool TextParser::ParseDevices(DeviceList& devices) {
  return Take(ReadDeviceList(cursor_, limits_), devices);
}

bool TextParser::ReadLiteralValue(Draft&, AttributeKey key) {
  Literal literal;
  if (!ReadShapedLiteral(literal, 0)) return false;
  Push(builder_.Make(key, std::move(literal)));
  return true;
}

// s32[2]{0} {1, 2} or ( s32[2]{0} {1, 2}, ( f32[] 3 ) ): a tuple has the shapes of its leaves only.
bool TextParser::ReadShapedLiteral(Literal& literal, int64_t depth) {
  if (depth > limits_.nesting) return Expected("fewer levels of tuples in the literal");
  if (!cursor_.Consume('(')) {
    ShapeId shape;
    return ReadShapeId(shape) &&
           Take(ReadLiteral(cursor_, ShapeOf(LiteralShape(shape)), limits_), literal);
  }
  std::vector<Literal> elements;
  while (!cursor_.Consume(')')) {
    if (!elements.empty()) cursor_.Consume(',');
    if (elements.size() >= static_cast<size_t>(limits_.operands)) {
      return Expected("fewer elements in the literal");
    }
    if (!ReadShapedLiteral(elements.emplace_back(), depth + 1)) return false;
  }
  literal = Literal::Tuple(std::move(elements));
  return true;
}

// {size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=… rhs_dilate=… rhs_reversal=…}, in any order.
bool TextParser::ParseWindow(Window& window) {
  constexpr std::string_view kFields[] = {"size",       "stride",     "pad",
                                          "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::array<std::vector<int64_t>, std::size(kFields)> values;
  if (!Need('{')) return false;
  while (!cursor_.Consume('}')) {
    size_t k = 0;
    while (k < std::size(kFields) && !cursor_.ConsumeAttributeName(kFields[k])) ++k;
    if (k == std::size(kFields) || !values[k].empty()) {
      return Expected("size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal, each once");
    }
    cursor_.SkipSpace();
    do {
      int64_t value = 0;
      if (!ReadIntValue(value)) return false;
      values[k].push_back(value);
      if (kFields[k] != "pad") continue;
      if (!Need('_') || !ReadIntValue(value)) return false;
      values[k].push_back(value);
    } while (cursor_.position() != cursor_.end() && *cursor_.position() == 'x' &&
             cursor_.Consume('x'));
  }
  size_t rank = values[0].size();
  for (size_t k = 1; k < std::size(kFields); ++k) {
    size_t count = kFields[k] == "pad" ? values[k].size() / 2 : values[k].size();
    if (count == 0 || count == rank) continue;
    return Error("window",
                 std::string(kFields[k]) + " has " + std::to_string(count) + " dimensions, size " +
                     std::to_string(rank),
                 offset);
  }
  window.dimensions.resize(rank);
  auto at = [&](size_t k, size_t i, int64_t absent) {
    return values[k].empty() ? absent : values[k][i];
  };
  for (size_t i = 0; i < rank; ++i) {
    window.dimensions[i] = {.size = values[0][i],
                            .stride = at(1, i, 1),
                            .padding_low = at(2, 2 * i, 0),
                            .padding_high = at(2, 2 * i + 1, 0),
                            .window_dilation = at(4, i, 1),
                            .base_dilation = at(3, i, 1),
                            .window_reversal = at(5, i, 0) == 1};
  }
  return true;
}

namespace {

// One side of dim_labels: the positions of its two letters and of the spatial dimensions.
struct Labels {
  int64_t first = 0, second = 0;
  std::vector<int64_t> spatial;
};

bool ReadLabels(std::string_view text, char first, char second, Labels& labels) {
  std::array<int64_t, 256> position{};
  position.fill(-1);
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '?') continue;
    bool spatial = TextCursor::IsDigit(c) && static_cast<size_t>(c - '0') < text.size();
    int64_t& known = position[static_cast<uint8_t>(c)];
    if ((c != first && c != second && !spatial) || known >= 0) return false;
    known = static_cast<int64_t>(i);
  }
  for (char c = '0'; c <= '9' && position[static_cast<uint8_t>(c)] >= 0; ++c) {
    labels.spatial.push_back(position[static_cast<uint8_t>(c)]);
  }
  size_t digits = static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return TextCursor::IsDigit(c); }));
  labels.first = std::max<int64_t>(0, position[static_cast<uint8_t>(first)]);
  labels.second = std::max<int64_t>(0, position[static_cast<uint8_t>(second)]);
  return digits == labels.spatial.size() && text.size() >= 2;
}

}  // namespace

// b01f_01io->b01f
bool TextParser::ReadDimLabels(Draft&, AttributeKey key) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  const char* start = cursor_.position();
  const char* p = start;
  auto is_label = [](char c) {
    return TextCursor::IsDigit(c) || c == 'b' || c == 'f' || c == 'i' || c == 'o' || c == '?' ||
           c == '_' || c == '-' || c == '>';
  };
  while (p != cursor_.end() && is_label(*p)) ++p;
  std::string_view text(start, static_cast<size_t>(p - start));
  size_t underscore = text.find('_');
  size_t arrow = text.find("->");
  Labels lhs, rhs, out;
  if (underscore >= arrow || arrow == std::string_view::npos ||
      !ReadLabels(text.substr(0, underscore), 'b', 'f', lhs) ||
      !ReadLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', rhs) ||
      !ReadLabels(text.substr(arrow + 2), 'b', 'f', out)) {
    return Error("dim-labels",
                 "`" + std::string(text.substr(0, 40)) +
                     "` is not valid as dim_labels, expected for instance b01f_01io->b01f",
                 offset);
  }
  if (lhs.spatial.size() != rhs.spatial.size() || lhs.spatial.size() != out.spatial.size()) {
    return Error("dim-labels",
                 "lhs, rhs and output have " + std::to_string(lhs.spatial.size()) + ", " +
                     std::to_string(rhs.spatial.size()) + " and " +
                     std::to_string(out.spatial.size()) +
                     " spatial dimensions, expected the same number",
                 offset);
  }
  cursor_.set_position(p);
  ConvolutionDims dims;
  dims.input_batch = lhs.first;
  dims.input_feature = lhs.second;
  dims.kernel_input_feature = rhs.first;
  dims.kernel_output_feature = rhs.second;
  dims.output_batch = out.first;
  dims.output_feature = out.second;
  dims.input_spatial = std::move(lhs.spatial);
  dims.kernel_spatial = std::move(rhs.spatial);
  dims.output_spatial = std::move(out.spatial);
  Push(builder_.Make(key, std::move(dims)));
  return true;
}

// {kind="sharding", entry={…}, exit={…}}
bool TextParser::ReadDomain(Draft&, AttributeKey key) {
  Domain domain;
  if (!Need('{')) return false;
  uint32_t seen = 0;
  do {
    if (cursor_.ConsumeAttributeName("kind")) {
      StringId kind;
      if (!ReadStringId(kind)) return false;
      domain.kind = builder_.module()[kind];
      if (domain.kind != "sharding") return Expected("kind=\"sharding\"");
      seen |= 1;
    } else if (cursor_.ConsumeAttributeName("entry")) {
      if (!ParseSharding(domain.entry)) return false;
      seen |= 2;
    } else if (cursor_.ConsumeAttributeName("exit")) {
      if (!ParseSharding(domain.exit)) return false;
      seen |= 4;
    } else {
      return Expected("kind, entry or exit");
    }
  } while (cursor_.Consume(','));
  if (seen != 7) return Expected("kind, entry and exit in a domain");
  Push(builder_.Make(key, std::move(domain)));
  return Need('}');
}

bool TextParser::ReadNameOrString(StringId& text, const char* what) {
  if (cursor_.Peek() == '"') return ReadStringId(text);
  const std::string_view name = cursor_.ReadIdentifier();
  if (name.empty()) return Expected(what);
  text = builder_.Intern(name);
  return true;
}

// {name="value", other={json}}; sorted by name, the last of one name holds.
bool TextParser::ReadFrontendMap(FrontendAttributes& map) {
  if (!Need('{')) return false;
  if (cursor_.Consume('}')) return true;
  do {
    FrontendAttribute entry;
    if (!ReadNameOrString(entry.key, "the name of a frontend attribute")) return false;
    if (!Need('=') || !ReadJsonOrString(entry.value, entry.json)) return false;
    map.entries.push_back(entry);
  } while (cursor_.Consume(','));
  auto less = [this](const FrontendAttribute& a, const FrontendAttribute& b) {
    return builder_.module()[a.key] < builder_.module()[b.key];
  };
  std::stable_sort(map.entries.begin(), map.entries.end(), less);
  auto& entries = map.entries;
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i].key == entries[i + 1].key) continue;
    entries[kept++] = entries[i];
  }
  entries.resize(kept);
  return Need('}');
}

// {{output index}: (operand, {operand index}), …}
bool TextParser::ReadAliasing(Draft&, AttributeKey key) {
  OutputOperandAliasing aliasing;
  if (!Need('{')) return false;
  while (cursor_.Peek() != '}') {
    OutputOperandAlias alias;
    if (!ReadShapeIndex(alias.output_index) || !Need(':') || !Need('(') ||
        !ReadIntValue(alias.operand) || !Need(',') || !ReadShapeIndex(alias.operand_index)) {
      return false;
    }
    if (cursor_.Consume(',') && !cursor_.ConsumeWord("must-alias") &&
        !cursor_.ConsumeWord("may-alias")) {
      return Expected("may-alias or must-alias");
    }
    if (!Need(')')) return false;
    aliasing.entries.push_back(std::move(alias));
    if (!cursor_.Consume(',')) break;
  }
  Push(builder_.Make(key, std::move(aliasing)));
  return Need('}');
}

// {visualizing_index=1,name=value,…}
bool TextParser::ReadStatistics(Draft&, AttributeKey key) {
  Statistics statistics;
  if (!Need('{')) return false;
  if (cursor_.Peek() != '}') {
    if (!cursor_.ConsumeAttributeName("visualizing_index")) return Expected("visualizing_index=");
    if (!ReadIntValue(statistics.visualizing_index)) return false;
    while (cursor_.Consume(',')) {
      StringId name;
      double value = 0;
      if (!ReadNameOrString(name, "the name of a statistic")) return false;
      if (!Need('=') || !ReadDoubleValue(value)) return false;
      statistics.values.emplace_back(std::string(builder_.module()[name]), value);
    }
  }
  Push(builder_.Make(key, std::move(statistics)));
  return Need('}');
}

// {mode=highest} or {tolerance={atol=1e-3,rtol=0,ulps=2}}
bool TextParser::ReadResultAccuracy(Draft&, AttributeKey key) {
  ResultAccuracy accuracy;
  if (!Need('{')) return false;
  if (cursor_.ConsumeAttributeName("mode")) {
    cursor_.SkipSpace();
    uint64_t offset = cursor_.offset();
    std::string_view mode = cursor_.ReadIdentifier();
    if (EqualIgnoringCase(mode, "highest")) {
      accuracy.mode = ResultAccuracy::Mode::kHighest;
    } else if (!EqualIgnoringCase(mode, "default")) {
      return Error("syntax", "result_accuracy has mode `" + std::string(mode) + "`", offset,
                   "it is one of default, highest");
    }
  } else if (cursor_.ConsumeAttributeName("tolerance")) {
    if (!ReadTolerance(accuracy)) return false;
  } else {
    return Expected("mode= or tolerance=");
  }
  Push(builder_.Make(key, accuracy));
  return Need('}');
}

bool TextParser::ReadTolerance(ResultAccuracy& accuracy) {
  accuracy.mode = ResultAccuracy::Mode::kTolerance;
  if (!Need('{')) return false;
  if (cursor_.Consume('}')) return true;
  do {
    double ulps = 0;
    bool ok = false;
    if (cursor_.ConsumeAttributeName("atol")) {
      ok = ReadDoubleValue(accuracy.atol);
    } else if (cursor_.ConsumeAttributeName("rtol")) {
      ok = ReadDoubleValue(accuracy.rtol);
    } else if (cursor_.ConsumeAttributeName("ulps")) {
      constexpr double kMax = 9e18;
      ok = ReadDoubleValue(ulps) &&
           (std::abs(ulps) < kMax || Expected("a number of ulps that fits 64 bits"));
      if (ok) accuracy.ulps = static_cast<int64_t>(ulps);
    } else {
      return Expected("atol=, rtol= or ulps=");
    }
    if (!ok) return false;
  } while (cursor_.Consume(','));
  return Need('}');
}

bool TextParser::ReadBackendConfig(Draft&, AttributeKey key) {
  BackendConfig config;
  if (!ReadJsonOrString(config.text, config.json)) return false;
  Push(builder_.Make(key, config));
  return true;
}

// {op_name="…" source_line=3 …}, separated by spaces or commas.
bool TextParser::ParseMetadata(OpMetadata& metadata) {
  if (!Need('{')) return false;
  std::string unknown;
  uint32_t seen = 0;
  while (!cursor_.Consume('}')) {
    cursor_.Consume(',');
    if (!ReadMetadataEntry(metadata, unknown, seen)) return false;
  }
  if (!unknown.empty()) metadata.unknown = builder_.Intern(unknown);
  return true;
}

bool TextParser::ReadMetadataEntry(OpMetadata& metadata, std::string& unknown, uint32_t& seen) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::string_view name = cursor_.ReadIdentifier();
  if (name.empty() || !cursor_.Consume('=')) return Expected("an entry of metadata, `name=value`");
  auto once = [&](uint32_t bit) {
    bool first = (seen >> bit & 1) == 0;
    seen |= 1u << bit;
    return first || Error("duplicate-attribute",
                          "metadata has " + std::string(name) + " twice, expected once", offset);
  };
  using M = OpMetadata;
  struct Text {
    std::string_view name;
    StringId M::* field;
  };
  constexpr Text kTexts[] = {{"op_name", &M::op_name},
                             {"op_type", &M::op_type},
                             {"source_file", &M::source_file},
                             {"deduplicated_name", &M::deduplicated_name},
                             {"scheduling_name", &M::scheduling_name}};
  uint32_t bit = 0;
  for (const Text& t : kTexts) {
    if (name == t.name) return once(bit) && ReadStringId(metadata.*t.field);
    ++bit;
  }
  struct Number {
    std::string_view name;
    int32_t M::* field;
  };
  constexpr Number kNumbers[] = {{"stack_frame_id", &M::stack_frame_id},
                                 {"source_line", &M::source_line},
                                 {"source_end_line", &M::source_end_line},
                                 {"source_column", &M::source_column},
                                 {"source_end_column", &M::source_end_column}};
  for (const Number& n : kNumbers) {
    if (name == n.name) return once(bit) && ReadInt32(metadata.*n.field);
    ++bit;
  }
  if (name == "preserve_layout") {
    metadata.preserve_layout = cursor_.ConsumeWord("true");
    return once(bit) &&
           (metadata.preserve_layout || cursor_.ConsumeWord("false") || Expected("true or false"));
  }
  if (name == "profile_type") {
    std::vector<int64_t> types;
    const char* start = cursor_.position();
    if (!once(bit + 1) || !ReadIntList('{', '}', ',', types)) return false;
    std::string_view list = cursor_.Since(start);
    list.remove_prefix(list.find('{') + 1);
    metadata.profile_type = builder_.Intern(list.substr(0, list.size() - 1));
    return true;
  }
  const char* start = cursor_.position();
  bool read = cursor_.Peek() == '"' ? cursor_.ReadRawString().has_value()
              : cursor_.Peek() == '{' || cursor_.Peek() == '['
                  ? cursor_.ReadGroup().has_value()
                  : !cursor_.ReadIdentifier().empty() || cursor_.ReadInt().has_value();
  if (!read) return Expected("a value for metadata " + std::string(name));
  std::string_view value = cursor_.Since(start);
  if (name == "metadata_payload") {
    metadata.metadata_payload = builder_.Intern(value);
    return once(bit + 2);
  }
  Warn("unknown-attribute",
       "metadata entry " + std::string(name) + " is unknown and is kept as written", offset, {});
  unknown += (unknown.empty() ? "" : " ") + std::string(name) + "=" + std::string(value);
  return true;
}

// {{"x"}}, {({"x" {0}}, {"y"})} or {[synthetic_call]}
bool TextParser::ReadOriginalValue(Draft&, AttributeKey key) {
  OriginalValue value;
  if (!Need('{')) return false;
  if (cursor_.Consume('[')) {
    value.synthetic_call = true;
    if (!cursor_.ConsumeWord("synthetic_call")) return Expected("synthetic_call");
    if (!Need(']')) return false;
  } else if (cursor_.Peek() == '}') {
    value.root.is_tuple = true;
  } else if (!ReadOriginTree(value.root, 0)) {
    return false;
  }
  Push(builder_.Make(key, std::move(value)));
  return Need('}');
}

bool TextParser::ReadOriginTree(OriginalValue::Node& node, int64_t depth) {
  if (depth > limits_.nesting) return Expected("fewer levels of tuples in the origin");
  char c = cursor_.Peek();
  if (c == '{') return ReadOriginArray(node);
  node.is_tuple = true;
  if (c == ',' || c == ')') return true;  // a leaf left out, which is () to XLA
  if (!Need('(')) return false;
  if (cursor_.Consume(')')) return true;
  do {
    if (!ReadOriginTree(node.children.emplace_back(), depth + 1)) return false;
  } while (cursor_.Consume(','));
  auto left_out = [](const OriginalValue::Node& n) { return n.is_tuple && n.children.empty(); };
  while (!node.children.empty() && left_out(node.children.back())) node.children.pop_back();
  return Need(')');
}

bool TextParser::ReadOriginArray(OriginalValue::Node& node) {
  if (!Need('{')) return false;
  if (cursor_.Consume('}')) return true;
  OriginalArray array;
  std::optional<std::string> name = cursor_.ReadString();
  if (!name) return Expected("the quoted name of an instruction");
  array.instruction = std::move(*name);
  if (cursor_.Peek() == '{' && !ReadShapeIndex(array.index)) return false;
  if (!array.instruction.empty()) node.array = std::move(array);
  return Need('}');
}

}  // namespace hloscope::hlo
