// The proto of the final stage first, then the text; live ranges and the report beside it.
#include "core/dump/buffer_table.h"

#include <fmt/format.h>

#include "core/dump/readers/buffer_reader.h"
#include "core/dump/readers/line_reader.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

constexpr uint32_t kBufferAssignmentField = 3;  // of HloProto

// Alone in -live-range.txt; XLA of 2025 and earlier wrote it after the buffer assignment, in its
// file.
constexpr std::string_view kLiveRangeTitle = "HloLiveRange (max ";

// Of XLA's MemoryUsageReportProto: an entry for each memory space, with its total.
constexpr uint32_t kSpacesField = 1, kTotalBytesField = 1;

bool TotalOfReportProto(std::string_view bytes, int64_t& total) {
  bool found = false;
  hlo::WireReader spaces(bytes);
  hlo::WireField space;
  while (spaces.Next(space)) {
    if (space.tag != hlo::AsBytes(kSpacesField)) continue;
    found = true;
    hlo::WireReader reader(space.bytes);
    hlo::WireField field;
    while (reader.Next(field)) {
      if (field.tag != hlo::AsVarint(kTotalBytesField)) continue;
      if (__builtin_add_overflow(total, field.AsInt64(), &total)) return false;
    }
    if (!reader.ok()) return false;
  }
  return found && spaces.ok();
}

class Assignment {
 public:
  Assignment(const DumpModel& model, int32_t module) : model_(model), module_(module) {}

  Result<std::shared_ptr<const BufferTable>> Make() {
    const int32_t stage = model_.FinalStage(module_);
    auto table = std::make_shared<BufferTable>();
    if (stage >= 0) *table = FromProto(stage);
    if (table->source == BufferSource::kNone) {
      std::vector<std::string> lost = std::move(table->warnings);
      *table = FromText();
      table->warnings.insert(table->warnings.begin(), lost.begin(), lost.end());
    }
    if (table->source == BufferSource::kNone) TakeReport(*table);
    if (!table->has_values()) return table;
    FillShapes(*table);
    TakeLiveRanges(*table);
    CheckTotal(*table);
    return table;
  }

 private:
  BufferTable FromProto(int32_t stage) {
    BufferTable none;
    int32_t file = model_.ModuleFile(module_, stage);
    if (file < 0) return none;
    const FileEntry& entry = model_.files()[static_cast<size_t>(file)];
    if (entry.kind != FileKind::kHloProto || entry.role == FileRole::kUnoptimizedSnapshot)
      return none;
    auto opened = model_.OpenFile(file);
    if (!opened) {
      none.warnings.push_back(opened.error().ToString());
      return none;
    }
    std::string_view bytes;
    hlo::WireReader reader(opened->bytes());
    hlo::WireField field;
    while (reader.Next(field)) {
      if (field.tag == hlo::AsBytes(kBufferAssignmentField)) bytes = field.bytes;
    }
    if (!reader.ok()) {
      none.warnings.push_back(PathOf(file) + ": the proto is truncated or corrupt");
      return none;
    }
    if (bytes.empty()) return none;
    const auto names = ProtoNames(stage);
    auto table = WithinMemory(model_.limits(), opened->path(),
                              [&] { return ReadBufferProto(bytes, names); });
    if (!table) {
      Error error = table.error();
      error.place.file = PathOf(file);
      none.warnings.push_back(error.ToString());
      return none;
    }
    table->file = file;
    return *std::move(table);
  }

  std::unordered_map<int64_t, std::string> ProtoNames(int32_t stage) const {
    std::unordered_map<int64_t, std::string> names;
    auto module = model_.Module(module_, stage);
    if (!module) return names;
    std::span<const int64_t> ids = (*module)->proto_instruction_ids();
    names.reserve(ids.size());
    for (uint32_t k = 0; k < ids.size(); ++k)
      names.try_emplace(ids[k], (*module)->name(hlo::InstructionId(k)));
    return names;
  }

  BufferTable FromText() {
    BufferTable none;
    int32_t file = model_.FindFile(module_, FileRole::kBufferAssignment);
    if (file < 0) return none;
    auto read = model_.ReadFile(file, [](std::string_view text) { return ReadBufferText(text); });
    if (!read) {
      none.warnings.push_back(read.error().ToString());
      return none;
    }
    auto& table = *read;
    if (!table) {
      Error error = table.error();
      error.place.file = PathOf(file);
      none.warnings.push_back(error.ToString());
      return none;
    }
    for (std::string& warning : table->warnings) warning.insert(0, PathOf(file) + ": ");
    table->file = file;
    return *std::move(table);
  }

  void TakeReport(BufferTable& table) const {
    for (int32_t file : model_.modules()[static_cast<size_t>(module_)].files) {
      const FileEntry& entry = model_.files()[static_cast<size_t>(file)];
      if (entry.role != FileRole::kMemoryReport) continue;
      auto text = model_.OpenFile(file);
      int64_t total = 0;
      if (!text) {
        table.warnings.push_back(text.error().ToString());
      } else if (ReportTotal(file, text->bytes(), total)) {
        table.source = BufferSource::kReport;
        table.file = file;
        table.total_bytes = total;
        return;
      } else {
        table.warnings.push_back(PathOf(file) + ": no total, the file is truncated");
      }
    }
  }

  // Shapes of values by their instruction and index, where the file did not say.
  void FillShapes(BufferTable& table) const {
    auto lookup = model_.Lookup(module_);
    if (!lookup) return;
    for (BufferValue& value : table.values) {
      if (!value.shape.empty()) continue;
      hlo::InstructionId id = (*lookup)->ByName(value.instruction);
      if (!id.valid()) continue;
      const hlo::Shape* shape = &(*lookup)->module().shape(id);
      for (int64_t k : value.shape_index) {
        bool inside =
            shape->IsTuple() && k >= 0 && k < static_cast<int64_t>(shape->elements().size());
        if (!inside) {
          shape = nullptr;
          break;
        }
        shape = &shape->elements()[static_cast<size_t>(k)];
      }
      if (shape != nullptr) value.shape = hlo::ToString(*shape);
    }
  }

  void TakeLiveRanges(BufferTable& table) const {
    int32_t file = model_.FindFile(module_, FileRole::kLiveRange);
    const bool is_alone = file >= 0;
    if (!is_alone) file = model_.FindFile(module_, FileRole::kBufferAssignment);
    if (file < 0) return;
    bool says = false;
    auto read = model_.ReadFile(file, [&](std::string_view text) {
      says = text.find(kLiveRangeTitle) != std::string_view::npos;
      return says || is_alone ? ReadLiveRanges(text) : LiveRanges();
    });
    if (read && !is_alone && !says) return;
    if (!read) {
      table.warnings.push_back(read.error().ToString());
      return;
    }
    const LiveRanges& live = *read;
    if (live.ranges.empty() || !live.complete)
      table.warnings.push_back(fmt::format(
          "{}: {}", PathOf(file), says ? "the live ranges are truncated" : "no live ranges in it"));
    if (live.lost_lines != 0)
      table.warnings.push_back(fmt::format(
          "{}: line {}: no live range{}", PathOf(file), live.first_lost_line,
          live.lost_lines == 1 ? ""
                               : fmt::format(", the first of {} such lines", live.lost_lines)));
    ApplyLiveRanges(live, table);
  }

  // The text assignment, the values and the report name the same total: a difference is a loss.
  void CheckTotal(BufferTable& table) const {
    for (FileRole role :
         {FileRole::kBufferAssignment, FileRole::kBufferValues, FileRole::kMemoryReport}) {
      int32_t file = model_.FindFile(module_, role);
      if (file < 0 || file == table.file) continue;
      int64_t total = 0;
      const auto found = model_.ReadFile(file, [&](std::string_view text) {
        return role == FileRole::kMemoryReport ? ReportTotal(file, text, total)
                                               : TotalIn(role, text, total);
      });
      if (!found) {
        table.warnings.push_back(found.error().ToString());
        continue;
      }
      if (!*found) {
        table.warnings.push_back(PathOf(file) + ": no total, the file is truncated");
      } else if (total != table.total_bytes) {
        table.warnings.push_back(fmt::format("{} says {} bytes in total, {} says {}", PathOf(file),
                                             total, PathOf(table.file), table.total_bytes));
      }
    }
  }

  bool ReportTotal(int32_t file, std::string_view bytes, int64_t& total) const {
    return BareFileName(PathOf(file)).ends_with(".pb")
               ? TotalOfReportProto(bytes, total)
               : TotalIn(FileRole::kMemoryReport, bytes, total);
  }

  static bool TotalIn(FileRole role, std::string_view text, int64_t& total) {
    if (role == FileRole::kBufferAssignment) {
      auto table = ReadBufferText(text);
      if (!table || !table->warnings.empty()) return false;
      total = table->total_bytes;
      return true;
    }
    // Reports of today have a total for each memory space, earlier ones one for all.
    bool by_space = role == FileRole::kMemoryReport && text.starts_with("Memory Space:");
    std::string_view label = by_space ? "\nTotal bytes: " : "Total bytes used: ";
    bool found = false;
    for (size_t at = 0; (at = text.find(label, at)) != std::string_view::npos; ++at) {
      std::string_view number = text.substr(at + label.size());
      auto bytes = TakeNumber(number);
      if (!bytes || __builtin_add_overflow(total, *bytes, &total)) return false;
      found = true;
    }
    return found;
  }

  const std::string& PathOf(int32_t file) const {
    return model_.files()[static_cast<size_t>(file)].path;
  }

  const DumpModel& model_;
  int32_t module_;
};

}  // namespace

Result<std::shared_ptr<const BufferTable>> MakeBufferTable(const DumpModel& model, int32_t module) {
  return Assignment(model, module).Make();
}

bool HasLiveRanges(const DumpModel& model, int32_t module) {
  if (model.FindFile(module, FileRole::kLiveRange) >= 0) return true;
  const int32_t file = model.FindFile(module, FileRole::kBufferAssignment);
  if (file < 0) return false;
  const auto found = model.ReadFile(file, [](std::string_view text) {
    return text.find(kLiveRangeTitle) != std::string_view::npos;
  });
  return found && *found;
}

}  // namespace hloscope::dump
