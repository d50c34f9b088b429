// The tabs below the list of modules.
#include "viewer/views/module_pair.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "core/graph/overview.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/pair_facts.h"
#include "viewer/facts/stage_costs.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/second_dump.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using analysis::ProgramVerdict;

struct PairColumn {
  const char* title;
  const char* help;
  float share;
};

bool BeginPairTable(const char* id, std::span<const PairColumn> columns, float height = 0) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
  const auto count = static_cast<int>(columns.size());
  if (!ImGui::BeginTable(id, count, kFlags, ImVec2(0, height))) return false;
  ImGui::TableSetupScrollFreeze(0, 1);
  std::vector<const char*> help;
  for (const PairColumn& column : columns) {
    ImGui::TableSetupColumn(column.title, ImGuiTableColumnFlags_WidthStretch, column.share);
    help.push_back(column.help);
  }
  HeaderRow(help);
  return true;
}

template <typename DrawRow>
void DrawRows(size_t count, DrawRow draw) {
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(count));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      ImGui::TableNextRow();
      ImGui::PushID(i);
      draw(static_cast<size_t>(i));
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
}

void Quiet(Frame& frame, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  FittedLabel(text);
  ImGui::PopStyleColor();
}

std::string Bytes(double bytes) { return BytesText(static_cast<int64_t>(bytes)); }

std::string BytesFromTo(const std::array<int64_t, 2>& bytes) {
  const std::string text = FromTo({BytesText(bytes[0]), BytesText(bytes[1])});
  if (bytes[0] < 0 || bytes[1] < 0 || bytes[0] == bytes[1]) return text;
  return fmt::format("{} ({})", text, SignedBytesText(static_cast<double>(bytes[1] - bytes[0])));
}

// --- Kernels

Color ColorOf(KernelChange change) {
  switch (change) {
    case KernelChange::kChanged:
      return Color::kRewritten;
    case KernelChange::kAdded:
      return Color::kAdded;
    case KernelChange::kRemoved:
      return Color::kRemoved;
    case KernelChange::kSame:
      return Color::kTextSecondary;
  }
  return Color::kText;
}

std::string LaunchesFromTo(const KernelPairRow& row) {
  std::array<std::string, 2> texts;
  for (size_t d = 0; d < 2; ++d) texts[d] = row.launches[d] < 0 ? "?" : CountText(row.launches[d]);
  return FromTo(texts);
}

void DrawKernelRow(Frame& frame, const ModulePair& pair, int32_t stage, hlo::InstructionId selected,
                   const KernelPairRow& row) {
  ImGui::TableNextColumn();
  const bool is_selected = row.first[0].valid() && row.first[0] == selected;
  if (Row(frame, "##row", is_selected, false) && row.first[0].valid()) {
    frame.context.navigation.Select(Selection::OfInstruction(pair.modules[0], stage, row.first[0]));
  }
  Help(fmt::format("{}\nlaunches in one run: {}\n{} of the module as given",
                   row.first[0].valid() ? "select it in the first dump" : "only in the second dump",
                   LaunchesFromTo(row), CountedText(row.operations, "operation")));
  ImGui::SameLine(0, 0);
  Label(frame.theme, ColorOf(row.change), ToString(row.change));
  for (size_t d = 0; d < 2; ++d) {
    ImGui::TableNextColumn();
    FittedLabel(row.names[d].empty() ? "–" : row.names[d]);
  }
  ImGui::TableNextColumn();
  FittedLabel(LaunchesFromTo(row));
  ImGui::TableNextColumn();
  FittedLabel(FromTo({Bytes(row.bytes[0]), Bytes(row.bytes[1])}));
}

void DrawKernels(Frame& frame, const ModulePair& pair) {
  Context& context = frame.context;
  const Pending<PairKernels>& kernels = PairKernelsOf(context, pair);
  if (!ShowPending(frame, kernels, "the kernels")) return;
  for (size_t d = 0; d < 2; ++d) {
    FittedLabel(fmt::format("{}: {}, reads {}, writes {}", d == 0 ? "first" : "second",
                            graph::ToText(kernels->lanes[d]), Bytes(kernels->all[d].read),
                            Bytes(kernels->all[d].written)));
  }
  std::string counts;
  for (size_t c = 0; c < kKernelChanges; ++c) {
    if (kernels->counts[c] == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", CountText(kernels->counts[c]),
                          ToString(static_cast<KernelChange>(c)));
  }
  Quiet(frame, "kernels of the same operations in a row: " + counts);
  static constexpr std::array<PairColumn, 5> kColumns = {{
      {"change", "whether the kernels of a row are the same in both dumps", 1.1F},
      {"first", "kernels, library calls and copies of the first dump", 2.2F},
      {"second", "those of the second dump that run the same operations", 2.2F},
      {"launches", "in one run, in the first and in the second dump", 1.1F},
      {"bytes",
       "read and written, by shapes; in a loop as often as it runs, once where that is not known",
       1.9F},
  }};
  if (!BeginPairTable("##kernels", kColumns)) return;
  const int32_t stage = context.document.dump()->FinalStage(pair.modules[0]);
  const bool is_in_view = context.navigation.module() == pair.modules[0];
  const hlo::InstructionId selected =
      is_in_view ? context.navigation.InstructionIn(stage) : hlo::InstructionId();
  DrawRows(kernels->rows.size(),
           [&](size_t i) { DrawKernelRow(frame, pair, stage, selected, kernels->rows[i]); });
}

// --- Passes

std::string_view TextOf(const PassPairRow& row) {
  if (row.stages[0] < 0) return "only in the second";
  if (row.stages[1] < 0) return "only in the first";
  switch (row.verdict) {
    case ProgramVerdict::kEqual:
      return "equal";
    case ProgramVerdict::kElided:
      return "equal, elided constants";
    case ProgramVerdict::kDiffers:
      return "differs";
    case ProgramVerdict::kUnreadable:
    case ProgramVerdict::kNoCommonStage:
      break;
  }
  return "unreadable";
}

std::string InstructionsFromTo(const std::array<int64_t, 2>& counts) {
  std::array<std::string, 2> texts;
  for (size_t d = 0; d < 2; ++d) texts[d] = counts[d] < 0 ? "?" : CountText(counts[d]);
  return FromTo(texts);
}

void DrawPassRow(Frame& frame, const ModulePair& pair, const PassPairRow& row) {
  Context& context = frame.context;
  const bool has_both = row.stages[0] >= 0 && row.stages[1] >= 0;
  ImGui::TableNextColumn();
  const Comparison chosen = ChosenComparison(context);
  const bool is_shown = has_both && chosen.second != 0 && chosen.stage == row.stages[1] &&
                        chosen.module == pair.modules[1];
  if (Row(frame, "##row", is_shown, false)) {
    if (has_both) {
      CompareInPair(context, pair, row.stages[0], row.stages[1], "changes");
    } else if (row.stages[0] >= 0) {
      context.navigation.Select(Selection::OfStage(pair.modules[0], row.stages[0]));
    }
  }
  Help(row.name + (has_both             ? "\ncompare the two stages"
                   : row.stages[0] >= 0 ? "\nselect the stage in the first dump"
                                        : "\nonly in the second dump"));
  ImGui::SameLine(0, 0);
  FittedLabel(row.name);
  ImGui::TableNextColumn();
  FittedLabel(InstructionsFromTo(row.instructions));
  ImGui::TableNextColumn();
  const bool differs = has_both && row.verdict == ProgramVerdict::kDiffers;
  ImGui::PushStyleColor(ImGuiCol_Text,
                        frame.theme[differs ? Color::kRewritten : Color::kTextSecondary]);
  FittedLabel(TextOf(row));
  ImGui::PopStyleColor();
}

void DrawPasses(Frame& frame, const ModulePair& pair) {
  const Pending<PairPasses>& passes = PairPassesOf(frame.context, pair);
  if (!ShowPending(frame, passes, "the passes")) return;
  const int32_t first = passes->first_difference;
  FittedLabel(first < 0 ? "no stage that both dumps have differs"
                        : "first difference: " + passes->rows[static_cast<size_t>(first)].name);
  static constexpr std::array<PairColumn, 3> kColumns = {{
      {"after pass", "the pass that wrote the stage, in order of compilation", 4},
      {"instructions", "of the stage, in the first and in the second dump", 1.8F},
      {"result", "whether the stage is the same in both dumps", 2},
  }};
  if (!BeginPairTable("##passes", kColumns)) return;
  DrawRows(passes->rows.size(), [&](size_t i) { DrawPassRow(frame, pair, passes->rows[i]); });
}

// --- Memory

void GrowthCells(Frame& frame, int64_t first, int64_t second) {
  for (const int64_t bytes : {first, second}) {
    ImGui::TableNextColumn();
    RightLabel(BytesText(bytes));
  }
  ImGui::TableNextColumn();
  const Color color = second == first  ? Color::kTextSecondary
                      : second > first ? Color::kWarning
                                       : Color::kGood;
  RightLabel(frame.theme, color, SignedBytesText(static_cast<double>(second - first)));
}

void DrawMemory(Frame& frame, const ModulePair& pair) {
  const Pending<PairMemory>& memory = PairMemoryOf(frame.context, pair);
  if (!ShowPending(frame, memory, "the memory")) return;
  FittedLabel("allocated: " + BytesFromTo(memory->allocated));
  FittedLabel("live at the peak: " + BytesFromTo(memory->live_peak));
  static constexpr std::array<PairColumn, 4> kUses = {{
      {"use", "what the memory at the peak is for", 3},
      {"first", "bytes at the peak in the first dump", 1.3F},
      {"second", "bytes at the peak in the second dump", 1.3F},
      {"growth", "the second less the first", 1.3F},
  }};
  const float rows = static_cast<float>(memory->uses.size() + 1);
  const float height = std::min(rows * ImGui::GetTextLineHeightWithSpacing() * 1.1F + 6,
                                ImGui::GetContentRegionAvail().y / 2);
  if (BeginPairTable("##uses", kUses, height)) {
    DrawRows(memory->uses.size(), [&](size_t i) {
      const MemoryPairRow& row = memory->uses[i];
      ImGui::TableNextColumn();
      FittedLabel(TitleOf(row.use));
      GrowthCells(frame, row.bytes[0], row.bytes[1]);
    });
  }
  Quiet(frame, memory->values.empty() ? "no value differs in size"
                                      : "values, paired by the name of their instruction:");
  if (memory->values.empty()) return;
  static constexpr std::array<PairColumn, 4> kValues = {{
      {"value", "defining instruction and shape", 3},
      {"first", "bytes in the first dump", 1.3F},
      {"second", "bytes in the second dump", 1.3F},
      {"growth", "the second less the first", 1.3F},
  }};
  if (!BeginPairTable("##values", kValues)) return;
  DrawRows(memory->values.size(), [&](size_t i) {
    const Growth& value = memory->values[i];
    ImGui::TableNextColumn();
    FittedLabel(value.instruction + "  " + (value.shape.empty() ? value.other_shape : value.shape));
    GrowthCells(frame, value.other_size, value.size);
  });
}

}  // namespace

std::string FromTo(const std::array<std::string, 2>& texts) {
  return texts[0] == texts[1] ? texts[0] : fmt::format("{} → {}", texts[0], texts[1]);
}

void CompareInPair(Context& context, const ModulePair& pair, int32_t stage_first,
                   int32_t stage_second, std::string_view view) {
  context.navigation.Select(Selection::OfStage(pair.modules[0], stage_first));
  context.marks.Of<Comparison>() = {
      .module = pair.modules[1], .stage = stage_second, .second = context.second.reading()};
  context.requests.Show(view);
}

void DrawModulePair(Frame& frame, const ModulePair& pair) {
  Context& context = frame.context;
  Section(frame, pair.name);
  const int32_t first = context.document.dump()->FinalStage(pair.modules[0]),
                second = context.second.dump()->FinalStage(pair.modules[1]);
  if (first >= 0 && second >= 0) {
    if (ImGui::Button("Show changes")) CompareInPair(context, pair, first, second, "changes");
    Help("instruction by instruction, from the first to the second dump");
    SameLineIfRoom(ButtonWidth("Show graphs"));
    if (ImGui::Button("Show graphs")) CompareInPair(context, pair, first, second, "before-after");
    Help("the compiled graphs of both dumps side by side, what changed highlighted");
    SameLineIfRoom(200 * frame.scale);
  }
  ImGui::AlignTextToFramePadding();
  Quiet(frame, fmt::format("{} instructions, memory {}", InstructionsFromTo(pair.instructions),
                           BytesFromTo(pair.memory_bytes)));
  if (!pair.what.empty()) Quiet(frame, pair.what);
  if (!ImGui::BeginTabBar("##pair")) return;
  if (BeginTab("Kernels", "kernels of both dumps by the operations that they run")) {
    DrawKernels(frame, pair);
    ImGui::EndTabItem();
  }
  if (BeginTab("Passes", "stages of both dumps, and where they begin to differ")) {
    DrawPasses(frame, pair);
    ImGui::EndTabItem();
  }
  if (BeginTab("Memory", "the peak of both dumps, and what explains it")) {
    DrawMemory(frame, pair);
    ImGui::EndTabItem();
  }
  ImGui::EndTabBar();
}

}  // namespace hloscope::viewer
