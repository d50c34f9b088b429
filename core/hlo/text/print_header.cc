// The HloModule line and the stack-frame tables.
#include <algorithm>
#include <tuple>

#include "core/hlo/text/origin_table.h"
#include "core/hlo/text/text_printer.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

bool AllDefault(const std::vector<bool>& flags) {
  return flags.empty() || (flags.size() == 1 && !flags[0]);
}

}  // namespace

void TextPrinter::PrintHeader() {
  const ModuleHeader& header = module_.header();
  sink_.Append("HloModule ");
  sink_.Append(module_.name());
  if (header.is_scheduled) sink_.Append(", is_scheduled=true");
  PrintAliases();
  PrintDonors();
  if (header.alias_passthrough_params) sink_.Append(", alias_passthrough_params=true");
  PrintEntryLayout();
  PrintFlags(", allow_spmd_sharding_propagation_to_parameters={",
             header.allow_spmd_sharding_propagation_to_parameters);
  PrintFlags(", allow_spmd_sharding_propagation_to_output={",
             header.allow_spmd_sharding_propagation_to_output);
  if (header.replica_count != 1) {
    sink_.Append(", replica_count=");
    sink_.Append(header.replica_count);
  }
  if (header.num_partitions != 1) {
    sink_.Append(", num_partitions=");
    sink_.Append(header.num_partitions);
  }
  if (!header.frontend_attributes.entries.empty()) {
    sink_.Append(", frontend_attributes=");
    PrintFrontendMap(header.frontend_attributes);
  }
  PrintOriginTable();
  if (options_.lossless) PrintUnknownHeader();
  PrintStackFrames();
  sink_.Append("\n\n");
}

void TextPrinter::PrintOriginTable() {
  std::string_view table = module_[module_.header().origin_recovery_table];
  auto entries = ReadOriginTable(table);
  if (table.empty() || (entries && entries->empty())) return;
  std::optional<std::string> text;
  if (!options_.lossless && entries) text = OriginTableText(*entries, TextFormat::kElided);
  sink_.Append(", origin_recovery_table={");
  sink_.Append(text ? std::string_view(*text) : table);
  sink_.Append("}\n");
}

// What jaxlib 0.10.2 does not know.
void TextPrinter::PrintUnknownHeader() {
  const ModuleHeader& header = module_.header();
  if (header.debug_attributes.valid()) {
    sink_.Append(", debug_attributes={");
    sink_.Append(module_[header.debug_attributes]);
    sink_.Append('}');
  }
  for (const RawAttribute& raw : header.unknown) {
    sink_.Append(", ");
    sink_.Append(module_[raw.name]);
    sink_.Append('=');
    sink_.Append(module_[raw.text]);
  }
}

void TextPrinter::PrintAliases() {
  // By output index, as XLA keeps them in a tree of the result shape.
  std::vector<const InputOutputAlias*> aliases;
  for (const InputOutputAlias& alias : module_.header().input_output_alias) {
    aliases.push_back(&alias);
  }
  if (aliases.empty()) return;
  std::stable_sort(aliases.begin(), aliases.end(),
                   [](const auto* a, const auto* b) { return a->output_index < b->output_index; });
  sink_.Append(", input_output_alias={ ");
  for (const InputOutputAlias*& alias : aliases) {
    if (&alias != &aliases.front()) sink_.Append(", ");
    PrintIntList(alias->output_index);
    sink_.Append(": (");
    sink_.Append(alias->parameter);
    sink_.Append(", ");
    PrintIntList(alias->parameter_index);
    sink_.Append(std::string_view(alias->must_alias ? ", must-alias)" : ", may-alias)"));
  }
  sink_.Append(" }");
}

void TextPrinter::PrintDonors() {
  std::vector<const BufferDonor*> donors;
  for (const BufferDonor& donor : module_.header().buffer_donors) donors.push_back(&donor);
  if (donors.empty()) return;
  std::stable_sort(donors.begin(), donors.end(), [](const auto* a, const auto* b) {
    return std::tie(a->parameter, a->parameter_index) < std::tie(b->parameter, b->parameter_index);
  });
  sink_.Append(", buffer_donor={ ");
  for (const BufferDonor*& donor : donors) {
    if (&donor != &donors.front()) sink_.Append(", ");
    sink_.Append('(');
    sink_.Append(donor->parameter);
    sink_.Append(", ");
    PrintIntList(donor->parameter_index);
    sink_.Append(')');
  }
  sink_.Append(" }");
}

void TextPrinter::PrintEntryLayout() {
  sink_.Append(", entry_computation_layout={(");
  const std::optional<EntryLayout>& given = module_.header().entry_layout;
  std::vector<ShapeId> parameters;
  if (given) {
    parameters = given->parameters;
  } else {
    for (InstructionId id : module_.Parameters(module_.entry_id())) {
      if (id.valid()) parameters.push_back(module_[id].shape);
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0) sink_.Append(", ");
    if (i > 0 && i % 5 == 0) {
      sink_.Append("/*index=");
      sink_.Append(static_cast<int64_t>(i));
      sink_.Append("*/");
    }
    PrintEntryShape(parameters[i]);
  }
  sink_.Append(")->");
  PrintEntryShape(given ? given->result : module_[module_.entry().root].shape);
  sink_.Append('}');
}

// Where the text gives no entry layout, XLA's reader takes that of the entry computation; but with
// the default order of dimensions if another attribute sets up the module's configuration.
void TextPrinter::PrintEntryShape(ShapeId id) {
  const ModuleHeader& header = module_.header();
  bool configured = header.alias_passthrough_params || header.replica_count != 1 ||
                    header.num_partitions != 1 ||
                    !header.allow_spmd_sharding_propagation_to_parameters.empty() ||
                    !header.allow_spmd_sharding_propagation_to_output.empty();
  if (header.entry_layout || !configured || options_.lossless) {
    PrintShape(id);
  } else {
    sink_.Through([&](std::string& out) { AppendTo(out, module_[id].WithDefaultOrder()); });
  }
}

void TextPrinter::PrintFlags(std::string_view prefix, const std::vector<bool>& flags) {
  if (AllDefault(flags)) return;
  sink_.Append(prefix);
  for (size_t i = 0; i < flags.size(); ++i) {
    if (i > 0) sink_.Append(',');
    sink_.Append(std::string_view(flags[i] ? "true" : "false"));
  }
  sink_.Append('}');
}

void TextPrinter::PrintStackFrames() {
  const StackFrames& tables = frames_ ? frames_->tables() : module_.header().stack_frames;
  if (!options_.metadata || tables.empty()) return;
  int64_t id = 0;
  auto names = [&](std::string_view title, const std::vector<StringId>& list) {
    sink_.Append(title);
    id = 0;
    for (StringId name : list) {
      sink_.Append(++id);
      sink_.Append(' ');
      PrintQuoted(module_[name]);
      sink_.Append('\n');
    }
  };
  auto field = [&](std::string_view name, int64_t value) {
    sink_.Append(name);
    sink_.Append(value);
  };
  names("\n\nFileNames\n", tables.file_names);
  names("\nFunctionNames\n", tables.function_names);
  sink_.Append("\nFileLocations\n");
  id = 0;
  for (const StackFrames::Location& l : tables.locations) {
    sink_.Append(++id);
    field(" {file_name_id=", l.file_name_id);
    field(" function_name_id=", l.function_name_id);
    field(" line=", l.line);
    field(" end_line=", l.end_line);
    field(" column=", l.column);
    field(" end_column=", l.end_column);
    sink_.Append("}\n");
  }
  sink_.Append("\nStackFrames\n");
  id = 0;
  for (const StackFrames::Frame& frame : tables.frames) {
    sink_.Append(++id);
    field(" {file_location_id=", frame.file_location_id);
    field(" parent_frame_id=", int64_t{frame.parent_frame_id} + 1);
    sink_.Append("}\n");
  }
}

}  // namespace hloscope::hlo
