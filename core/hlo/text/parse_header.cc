// The HloModule line and the stack-frame tables.
#include <limits>
#include <set>
#include <string>

#include "core/base/closest_text.h"
#include "core/hlo/text/origin_table.h"
#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// What a misspelt attribute may have meant.
constexpr std::string_view kHeaderAttributes[] = {"is_scheduled",
                                                  "alias_passthrough_params",
                                                  "replica_count",
                                                  "num_partitions",
                                                  "input_output_alias",
                                                  "buffer_donor",
                                                  "entry_computation_layout",
                                                  "frontend_attributes",
                                                  "allow_spmd_sharding_propagation_to_parameters",
                                                  "allow_spmd_sharding_propagation_to_output",
                                                  "origin_recovery_table",
                                                  "debug_attributes"};

}  // namespace

bool TextParser::ParseHeader() {
  std::string_view name = cursor_.ReadName();
  if (name.empty()) return Expected("the name of the module");
  if (name == "ENTRY") {
    return Error("syntax", "expected the name of the module, found ENTRY",
                 cursor_.offset() - name.size());
  }
  builder_.header().name = builder_.Intern(name);
  cursor_.Consume(':');
  while (cursor_.Consume(',')) {
    if (!ParseHeaderAttribute()) return false;
  }
  return true;
}

bool TextParser::ParseHeaderAttribute() {
  ModuleHeader& header = builder_.header();
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::string_view name = cursor_.ReadIdentifier();
  if (name.empty() || !cursor_.Consume('=')) return Expected("a module attribute, `name=`");
  StringId id = builder_.Intern(name);
  if (attribute_epochs_.size() <= id.index) attribute_epochs_.resize(id.index + 64, 0);
  if (attribute_epochs_[id.index]++ != 0) {
    return Error("duplicate-attribute",
                 "module attribute " + std::string(name) + " appears twice, expected once", offset);
  }
  auto boolean = [this](bool& value) {
    if (cursor_.ConsumeWord("true")) return value = true;
    if (!cursor_.ConsumeWord("false")) return Expected("true or false");
    value = false;
    return true;
  };
  auto verbatim = [this](StringId& text) {
    auto group = cursor_.Peek() == '{' ? cursor_.ReadGroup() : std::nullopt;
    if (!group) return Expected("a balanced {…}");
    text = builder_.Intern(group->substr(1, group->size() - 2));
    return true;
  };
  if (name == "is_scheduled") return boolean(header.is_scheduled);
  if (name == "alias_passthrough_params") return boolean(header.alias_passthrough_params);
  if (name == "replica_count") return ReadIntValue(header.replica_count);
  if (name == "num_partitions") return ReadIntValue(header.num_partitions);
  if (name == "input_output_alias") return ReadAliasTable();
  if (name == "buffer_donor") return ReadDonorTable();
  if (name == "entry_computation_layout") return ReadEntryLayout();
  if (name == "frontend_attributes") return ReadFrontendMap(header.frontend_attributes);
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return ReadBools(header.allow_spmd_sharding_propagation_to_parameters);
  }
  if (name == "allow_spmd_sharding_propagation_to_output") {
    return ReadBools(header.allow_spmd_sharding_propagation_to_output);
  }
  if (name == "origin_recovery_table") {
    if (!verbatim(header.origin_recovery_table)) return false;
    return ReadOriginTable(builder_.module()[header.origin_recovery_table]).has_value() ||
           Error("syntax", "origin_recovery_table has a malformed entry", offset,
                 "an entry is {\"old\" {index}} : {\"new\" {index}}, or that followed by a comma "
                 "and the quoted text of a module; there is no comma between entries");
  }
  if (name == "debug_attributes") return ReadDebugAttributes();
  std::string_view text = cursor_.ReadRawValue();
  if (text.empty()) return Expected("a value for module attribute " + std::string(name));
  ClosestText closest(name);
  for (std::string_view known : kHeaderAttributes) closest.Offer(known);
  Warn("unknown-attribute",
       "module attribute " + std::string(name) + " is unknown and is kept as written", offset,
       closest.Hint());
  header.unknown.push_back({id, builder_.Intern(text), static_cast<uint32_t>(offset), false});
  return true;
}

// { {"name"}:({log_mode=default,callback_id=1}), … }, kept verbatim; only the modes are checked.
bool TextParser::ReadDebugAttributes() {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  auto group = cursor_.Peek() == '{' ? cursor_.ReadGroup() : std::nullopt;
  if (!group) return Expected("a balanced {…}");
  constexpr std::string_view kMode = "log_mode=";
  for (size_t at = group->find(kMode); at != std::string_view::npos;
       at = group->find(kMode, at + 1)) {
    std::string_view mode = TextCursor(group->substr(at + kMode.size())).ReadWord();
    if (mode != "default" && mode != "fusion_debugger") {
      return Error("debug-attributes",
                   "log_mode is " + std::string(mode) + ", expected default or fusion_debugger",
                   offset + at);
    }
  }
  builder_.header().debug_attributes = builder_.Intern(group->substr(1, group->size() - 2));
  return true;
}

bool TextParser::ReadBools(std::vector<bool>& values) {
  auto one = [&] {
    bool value = cursor_.ConsumeWord("true");
    if (!value && !cursor_.ConsumeWord("false")) return Expected("true or false");
    values.push_back(value);
    return true;
  };
  if (cursor_.Peek() != '{') return one();
  cursor_.Consume('{');
  if (cursor_.Consume('}')) return true;
  do {
    if (!one()) return false;
  } while (cursor_.Consume(','));
  return Need('}');
}

bool TextParser::ReadEntryLayout() {
  EntryLayout layout;
  if (!Need('{') || !Need('(')) return false;
  if (cursor_.Peek() != ')') {
    do {
      ShapeId shape;
      if (!ReadShapeId(shape)) return false;
      layout.parameters.push_back(shape);
    } while (cursor_.Consume(',') && cursor_.Peek() != ')');
  }
  if (!Need(')')) return false;
  if (!cursor_.Consume("->")) return Expected("`->` before the result shape");
  if (!ReadShapeId(layout.result) || !Need('}')) return false;
  builder_.header().entry_layout = std::move(layout);
  return true;
}

bool TextParser::ReadShapeIndex(std::vector<int64_t>& index) {
  index.clear();
  return ReadIntList('{', '}', ',', index);
}

// { {output index}: (parameter, {index}, may-alias), … }; in 2019 also `{output index}: parameter`.
bool TextParser::ReadAliasTable() {
  if (!Need('{')) return false;
  while (cursor_.Peek() != '}') {
    InputOutputAlias alias;
    alias_offsets_.push_back(cursor_.offset());
    if (!ReadShapeIndex(alias.output_index) || !Need(':')) return false;
    if (!cursor_.Consume('(')) {
      if (!ReadIntValue(alias.parameter)) return false;
    } else {
      if (!ReadIntValue(alias.parameter) || !Need(',') || !ReadShapeIndex(alias.parameter_index)) {
        return false;
      }
      if (cursor_.Consume(',')) {
        alias.must_alias = cursor_.ConsumeWord("must-alias");
        if (!alias.must_alias && !cursor_.ConsumeWord("may-alias")) {
          return Expected("may-alias or must-alias");
        }
      }
      if (!Need(')')) return false;
    }
    if (alias.parameter < 0) {
      return Error("alias", "parameter number is negative, expected 0 or more",
                   alias_offsets_.back());
    }
    builder_.header().input_output_alias.push_back(std::move(alias));
    if (!cursor_.Consume(',')) break;
  }
  return Need('}');
}

bool TextParser::ReadDonorTable() {
  std::set<std::pair<int64_t, std::vector<int64_t>>> seen;  // XLA keeps each once
  if (!Need('{')) return false;
  while (cursor_.Peek() != '}') {
    BufferDonor donor;
    if (!Need('(') || !ReadIntValue(donor.parameter) || !Need(',') ||
        !ReadShapeIndex(donor.parameter_index) || !Need(')')) {
      return false;
    }
    if (seen.emplace(donor.parameter, donor.parameter_index).second) {
      builder_.header().buffer_donors.push_back(std::move(donor));
    }
    if (!cursor_.Consume(',')) break;
  }
  return Need('}');
}

bool TextParser::ParseStackFrames() {
  const char* start = cursor_.position();
  if (!cursor_.ConsumeWord("FileNames")) return true;
  if (!TextCursor::IsDigit(cursor_.Peek()) && cursor_.Peek() != 'F') {
    cursor_.set_position(start);  // a computation of that name
    return true;
  }
  StackFrames& frames = builder_.header().stack_frames;
  return ReadNameTable({}, frames.file_names) &&
         ReadNameTable("FunctionNames", frames.function_names) && ReadLocations() && ReadFrames();
}

bool TextParser::ReadNameTable(std::string_view keyword, std::vector<StringId>& names) {
  if (!keyword.empty() && !cursor_.ConsumeWord(keyword)) return Expected(keyword);
  while (TextCursor::IsDigit(cursor_.Peek())) {
    int64_t id = 0;
    StringId name;
    if (!ReadIntValue(id) || !ReadStringId(name)) return false;
    names.push_back(name);
  }
  return true;
}

// {name=int name=int …}: every name once, in any order.
bool TextParser::ReadFields(std::span<const std::string_view> names, std::span<int32_t> values) {
  uint32_t seen = 0;
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  if (!Need('{')) return false;
  while (cursor_.Peek() != '}') {
    cursor_.Consume(',');
    size_t k = 0;
    while (k < names.size() && !cursor_.ConsumeAttributeName(names[k])) ++k;
    if (k == names.size()) return Expected("a field of the stack-frame table");
    if ((seen >> k & 1) != 0) return Expected("each field once");
    seen |= 1u << k;
    if (!ReadInt32(values[k])) return false;
  }
  if (seen != (1u << names.size()) - 1) {
    return Error("stack-frames", "a field of the stack-frame table is missing", offset);
  }
  return Need('}');
}

bool TextParser::ReadLocations() {
  constexpr std::string_view kNames[] = {"file_name_id", "function_name_id", "line",
                                         "end_line",     "column",           "end_column"};
  if (!cursor_.ConsumeWord("FileLocations")) return Expected("FileLocations");
  while (TextCursor::IsDigit(cursor_.Peek())) {
    int64_t id = 0;
    int32_t v[6] = {};
    if (!ReadIntValue(id) || !ReadFields(kNames, v)) return false;
    builder_.header().stack_frames.locations.push_back({v[0], v[1], v[2], v[3], v[4], v[5]});
  }
  return true;
}

bool TextParser::ReadFrames() {
  constexpr std::string_view kNames[] = {"file_location_id", "parent_frame_id"};
  if (!cursor_.ConsumeWord("StackFrames")) return Expected("StackFrames");
  while (TextCursor::IsDigit(cursor_.Peek())) {
    int64_t id = 0;
    int32_t v[2] = {};
    if (!ReadIntValue(id) || !ReadFields(kNames, v)) return false;
    if (v[1] > std::numeric_limits<int32_t>::min()) --v[1];
    builder_.header().stack_frames.frames.push_back({v[0], v[1]});
  }
  return true;
}

}  // namespace hloscope::hlo
