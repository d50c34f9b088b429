// What-if: the largest values at the peak, and how large all allocations would be without them or
// with them in another form; several changes together.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "core/hlo/index_text.h"
#include "viewer/facts/memory/what_if.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using analysis::MemoryChange;
using analysis::ValueChange;

constexpr std::array<const char*, analysis::kMemoryChangeCount> kChangeHelp = {
    "a result of as many bytes takes the memory of the argument, which the caller must not use "
    "afterwards (in JAX: donate_argnums)",
    "the value is kept in bf16",
    "the value is computed again where it is read after the peak (in JAX: jax.checkpoint); what it "
    "is made of lives until then",
    "the value is not kept at all"};

class WhatIfView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    what_if_ = nullptr;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) return Sentence(frame, "no module in this dump");
    const Pending<dump::BufferTable>& buffers = context.data.Buffers(module);
    if (!ShowPending(frame, buffers, "the buffer assignment")) return;
    if (!buffers->has_values()) {
      return Sentence(frame,
                      "no buffer assignment of this module: --xla_dump_to=DIR "
                      "--xla_dump_hlo_as_text writes one");
    }
    if (module_ != module) changes_.clear();
    module_ = module;
    const Pending<WhatIf>* what_if = WhatIfOf(context, module);
    if (what_if == nullptr) return Sentence(frame, "reading the module …");
    if (!ShowPending(frame, *what_if, "the estimate")) return;
    what_if_ = what_if->value;
    if (what_if_ != of_changes_) changes_.clear();  // values go by their places in another table
    of_changes_ = what_if_;
    DrawSum(frame);
    DrawTable(frame);
  }

  std::string Arrangement() const override {
    std::string text = fmt::format("{}", module_);
    for (const ValueChange& change : changes_)
      text += fmt::format(" {} {}", change.value, static_cast<int>(change.change));
    return text;
  }
  void SetArrangement(std::string_view arrangement) override {
    const char* at = arrangement.data();
    const char* const end = at + arrangement.size();
    const auto next = [&] {
      int32_t number = -1;
      at = std::from_chars(at, end, number).ptr;
      if (at != end) ++at;
      return number;
    };
    if (next() != module_) return;  // of another module
    changes_.clear();
    while (at != end) {
      const int32_t value = next(), change = next();
      if (change >= 0 && change < static_cast<int32_t>(analysis::kMemoryChangeCount))
        changes_.push_back({value, static_cast<MemoryChange>(change)});
    }
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || what_if_ == nullptr) return View::Export(format, context);
    std::string out = "instruction,bytes,change,peak_bytes,why_not\n";
    for (const WhatIfRow& row : what_if_->rows) {
      const dump::BufferValue& value = ValueOf(row);
      for (size_t c = 0; c < row.cells.size(); ++c) {
        const WhatIfRow::Cell& cell = row.cells[c];
        out += fmt::format("{},{},{},{},{}\n", CsvCell(value.instruction), value.size,
                           ToString(static_cast<MemoryChange>(c)),
                           cell.bytes < 0 ? "" : fmt::to_string(cell.bytes), CsvCell(cell.why_not));
      }
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (what_if_ == nullptr) return {};
    std::string out;
    for (const WhatIfRow& row : what_if_->rows) {
      if (IsHighlighted(context, row.value)) out += ValueOf(row).instruction + "\n";
    }
    const std::span<const dump::BufferValue> values = what_if_->engine->table().values;
    for (const ValueChange& change : changes_) {
      const auto v = static_cast<size_t>(change.value);
      if (v >= values.size()) continue;
      out += fmt::format("{} {}\n", ToString(change.change), values[v].instruction);
    }
    return out;
  }

 private:
  const dump::BufferValue& ValueOf(const WhatIfRow& row) const {
    return what_if_->engine->table().values[static_cast<size_t>(row.value)];
  }
  bool IsHighlighted(Context& context, int32_t value) const {
    return context.navigation.selection().kind > SelectionKind::kStage &&
           context.navigation.counterparts().module == module_ &&
           context.navigation.counterparts().HasBuffer(value);
  }

  // "−1.2 GB": by how much the allocations are smaller than they are now.
  std::string SavedText(int64_t bytes) const {
    const int64_t saved = what_if_->engine->table().total_bytes - bytes;
    return (saved > 0 ? "−" : saved < 0 ? "+" : "") + BytesText(std::abs(saved));
  }

  void DrawSum(Frame& frame) {
    const int64_t now = what_if_->engine->table().total_bytes;
    if (changes_.empty()) {
      return Sentence(
          frame,
          BytesText(now) +
              " of allocations now; select changes: each number is the estimate of its change "
              "alone");
    }
    if (ImGui::SmallButton("Clear")) changes_.clear();
    Help("undo all changes");
    ImGui::SameLine();
    if (changes_.empty()) return;
    const Pending<int64_t>& bytes = TotalWith(frame.context, module_, what_if_, changes_);
    if (!ShowPending(frame, bytes, "the estimate")) return;
    FittedLabel(fmt::format(
        "{} of allocations now, {} with {}: {} (estimate: temporaries laid out again, program "
        "unchanged)",
        BytesText(now), BytesText(*bytes),
        CountedText(static_cast<int64_t>(changes_.size()), "change"), SavedText(*bytes)));
  }

  void DrawTable(Frame& frame) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    constexpr int kColumns = 3 + static_cast<int>(analysis::kMemoryChangeCount);
    if (!ImGui::BeginTable("##changes", kColumns, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    std::array<const char*, kColumns> help = {"size of the value", "defining instruction",
                                              "element type and dimensions"};
    const auto column = [](const char* title, float share) {
      ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthStretch, share);
    };
    column("bytes", 1);
    column("instruction", 2.2F);
    column("shape", 1.9F);
    for (size_t c = 0; c < analysis::kMemoryChangeCount; ++c) {
      column(ToString(static_cast<MemoryChange>(c)).data(), 1.2F);
      help[3 + c] = kChangeHelp[c];
    }
    HeaderRow(help);
    for (size_t i = 0; i < what_if_->rows.size(); ++i) DrawRow(frame, what_if_->rows[i], i);
    ImGui::EndTable();
  }

  void DrawRow(Frame& frame, const WhatIfRow& row, size_t number) {
    Context& context = frame.context;
    const dump::BufferValue& value = ValueOf(row);
    ImGui::TableNextRow();
    // In one line with the boxes.
    const auto go_to = [](int column) {
      ImGui::TableSetColumnIndex(column);
      ImGui::AlignTextToFramePadding();
    };
    go_to(0);
    RightLabel(BytesText(value.size));
    go_to(1);
    ImGui::PushID(static_cast<int>(number));
    std::string name = value.instruction.empty() ? "by an unknown instruction" : value.instruction;
    if (!value.shape_index.empty()) name += hlo::ShapeIndexText(value.shape_index);
    if (Choice(name, "value", IsHighlighted(context, row.value)))
      context.navigation.Select(Selection::OfBuffer(module_, row.value));
    go_to(2);
    FittedLabel(value.shape);
    for (size_t c = 0; c < row.cells.size(); ++c) {
      go_to(3 + static_cast<int>(c));
      DrawCell(frame, row, c);
    }
    ImGui::PopID();
  }

  // One change of a value at a time.
  void DrawCell(Frame& frame, const WhatIfRow& row, size_t c) {
    const WhatIfRow::Cell& cell = row.cells[c];
    if (cell.bytes < 0) {
      Label(frame.theme, Color::kTextSecondary, "–");
      return Help(cell.why_not);
    }
    const ValueChange change{row.value, static_cast<MemoryChange>(c)};
    const auto at = std::ranges::find(changes_, row.value, &ValueChange::value);
    bool is_chosen = at != changes_.end() && *at == change;
    if (ImGui::Checkbox(fmt::format("{}##{}", SavedText(cell.bytes), c).c_str(), &is_chosen)) {
      if (at != changes_.end()) changes_.erase(at);
      if (is_chosen) changes_.push_back(change);
    }
    Help(fmt::format("{}: {} of allocations instead of {}", ToString(change.change),
                     BytesText(cell.bytes), BytesText(what_if_->engine->table().total_bytes)));
  }

  int32_t module_ = -1;
  std::vector<ValueChange> changes_;
  std::shared_ptr<const WhatIf> what_if_, of_changes_;
};

}  // namespace

std::unique_ptr<View> MakeWhatIfView() { return std::make_unique<WhatIfView>(); }

}  // namespace hloscope::viewer
