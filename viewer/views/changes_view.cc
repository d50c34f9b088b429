// Changes: the stage before and the stage in view, instruction by instruction and word by word.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <unordered_map>

#include "core/hlo/text/text.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/stage_heat.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/views/change_head.h"
#include "viewer/views/change_looks.h"
#include "viewer/widgets/syntax.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/word_diff.h"

namespace hloscope::viewer {
namespace {

class ChangesView : public View {
 public:
  void Draw(Frame& frame) override {
    const std::optional<StagePair> pair = DrawChangeHead(frame);
    if (!pair) return;
    pair_ = *pair;
    FindHeat(frame.context);
    DrawHead(frame, *pair_.changes);
    if (!pair_.changes->counts.any() && !unchanged_) {
      rows_.clear();
      rows_key_.clear();
      return;
    }
    CollectRows(frame.context);
    DrawRows(frame);
  }

  bool Run(Command command, Frame& /*frame*/) override {
    if (command == Command::kFindNext || command == Command::kFindPrevious) {
      wanted_step_ = command == Command::kFindNext ? 1 : -1;
      return true;
    }
    if (command != Command::kFit) return false;
    revealed_ = 0;
    return true;
  }
  std::string State() const override { return unchanged_ ? "1" : "0"; }
  void SetState(std::string_view state) override { unchanged_ = state == "1"; }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || context.navigation.module() < 0 || pair_.changes == nullptr)
      return View::Export(format, context);
    std::string out = "change,before,after\n";
    for (const Line& line : rows_) {
      if (line.skipped > 0) continue;
      out += fmt::format("{},{},{}\n", ToString(line.kind),
                         CsvCell(TextOf(*pair_.text_before, line.before, false)),
                         CsvCell(TextOf(*pair_.text_after, line.after, false)));
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    const Comparison chosen = ChosenComparison(context);
    return fmt::format("{} rows, selected {}{}", rows_.size(),
                       selected_row_ >= 0 && context.navigation.module() >= 0 ? "yes" : "no",
                       chosen.is_set() ? "\nagainst " + ComparisonText(context, chosen) : "");
  }

 private:
  void DrawHead(Frame& frame, const analysis::PassChanges& changes) {
    const analysis::ChangeCounts& counts = changes.counts;
    ImGui::AlignTextToFramePadding();
    bool first = true;
    const auto part = [&](int64_t count, std::string_view word, Color color) {
      if (count == 0) return;
      if (!first) ImGui::SameLine(0, 14 * frame.scale);
      first = false;
      Label(frame.theme, color, fmt::format("{} {}", CountText(count), word));
    };
    for (const ChangeLook& look : kChangeLooks)
      part(CountOf(counts, look.kind), ToString(look.kind), look.color);
    part(counts.unchanged, "unchanged", Color::kTextSecondary);
    if (!counts.any()) {
      ImGui::SameLine(0, 14 * frame.scale);
      Label(frame.theme, Color::kTextSecondary, "no changes");
    }
    SameLineIfRoom(CheckboxWidth("Show unchanged"));
    ImGui::Checkbox("Show unchanged", &unchanged_);
    Help("show unchanged instructions too");
    DrawIgnoreMetadata(frame);
    if (const auto& heat = paint_[paint_[0] == nullptr ? 1 : 0])
      DrawLegend(frame, HeatLegend(frame.theme, heat->facts()));
  }

  // Of two stages of one module; of a second dump nothing is measured.
  void FindHeat(Context& context) {
    paint_ = {};
    if (pair_.second != 0 || pair_.module_before != pair_.module) return;
    paint_[0] = heat_[0].Find(context, pair_.module, pair_.before, pair_.text_before);
    paint_[1] = heat_[1].Find(context, pair_.module, pair_.after, pair_.text_after);
  }

  struct Line {
    analysis::ChangeKind kind = analysis::ChangeKind::kUnchanged;
    hlo::InstructionId before, after;
    uint32_t skipped = 0;  // of a line that stands for a run of unchanged ones
  };

  void CollectRows(Context& context) {
    const analysis::PassChanges& changes = *pair_.changes;
    std::string key = fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", context.document.generation(),
                                  pair_.module, pair_.after, unchanged_, changes.rows.size(),
                                  pair_.module_before, pair_.before, pair_.second) +
                      (context.marks.Of<ChangeFilter>().ignores_metadata ? "/quiet" : "");
    if (key != rows_key_) {
      rows_key_ = key;
      rows_.clear();
      texts_.clear();
      revealed_ = 0;
      for (const analysis::DiffRow& row : changes.rows) AddRow(row);
    }
    const hlo::InstructionId now = context.navigation.InstructionIn(pair_.stage_in_view(true)),
                             was = context.navigation.InstructionIn(pair_.stage_in_view(false));
    auto found = std::ranges::find_if(rows_, [&](const Line& line) {
      return (now.valid() && line.after.valid() && line.after.index <= now.index &&
              now.index < line.after.index + std::max(1u, line.skipped)) ||
             (was.valid() && !now.valid() && line.before == was);
    });
    selected_row_ = found == rows_.end() ? -1 : static_cast<int64_t>(found - rows_.begin());
    if (wanted_step_ != 0) StepChange(context);
  }

  // Unchanged ones are one line for each run, unless they are asked for.
  void AddRow(const analysis::DiffRow& row) {
    if (row.kind != analysis::ChangeKind::kUnchanged) {
      rows_.push_back({row.kind, row.before, row.after, 0});
    } else if (unchanged_) {
      for (uint32_t i = 0; i < row.count; ++i) {
        rows_.push_back({row.kind, hlo::InstructionId(row.before.index + i),
                         hlo::InstructionId(row.after.index + i), 0});
      }
    } else if (!rows_.empty() && rows_.back().skipped > 0 &&
               rows_.back().after.index + rows_.back().skipped == row.after.index) {
      rows_.back().skipped += row.count;
    } else {
      rows_.push_back({row.kind, row.before, row.after, row.count});
    }
  }

  void StepChange(Context& context) {
    auto count = static_cast<int64_t>(rows_.size());
    for (int64_t i = selected_row_ + wanted_step_; i >= 0 && i < count; i += wanted_step_) {
      const Line& line = rows_[static_cast<size_t>(i)];
      if (line.kind == analysis::ChangeKind::kUnchanged) continue;
      Click(context, line);
      break;
    }
    wanted_step_ = 0;
  }

  // What is gone is selected where it was, and this change stays on the screen.
  void Click(Context& context, const Line& line) const {
    const bool is_after = pair_.second != 0 ? !line.before.valid() : line.after.valid();
    SelectInPair(context, pair_, is_after, is_after ? line.after : line.before);
  }

  void DrawRows(Frame& frame) {
    const hlo::Module &before = *pair_.text_before, &after = *pair_.text_after;
    ImGui::PushFont(frame.mono, 15);
    ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.theme[Color::kCanvas]);
    ImGui::BeginChild("##rows");
    float height = std::floor(ImGui::GetTextLineHeight() * 1.22f),
          width = ImGui::GetContentRegionAvail().x;
    if (rows_.empty()) Sentence(frame, "both stages are empty");
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()), height);
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const Line& line = rows_[static_cast<size_t>(i)];
        ImGui::PushID(i);
        ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
        const bool pressed = ImGui::InvisibleButton("##row", ImVec2(std::max(1.0f, width), height));
        ImGui::PopStyleVar();
        if (pressed && line.skipped == 0) Click(frame.context, line);
        if (ImGui::IsItemHovered() && line.skipped == 0)
          ShowWhole(before, after, line, SentenceOf(line));
        DrawRow(frame, line, line.skipped > 0 ? nullptr : &TextsOf(before, after, i), at, width,
                height, i == selected_row_);
        ImGui::PopID();
      }
    }
    if (revealed_ != frame.context.navigation.version() && selected_row_ >= 0) {
      revealed_ = frame.context.navigation.version();
      float y = static_cast<float>(selected_row_) * height;
      if (y < ImGui::GetScrollY() ||
          y > ImGui::GetScrollY() + ImGui::GetWindowHeight() - 2 * height)
        ImGui::SetScrollY(std::max(0.0f, y - ImGui::GetWindowHeight() / 3));
    }
    ImGui::EndChild();
    ImGui::PopStyleColor();
    ImGui::PopFont();
  }

  // Folded where both sides are the same: a difference must not be folded away.
  static std::string TextOf(const hlo::Module& module, hlo::InstructionId id, bool folded) {
    if (!id.valid() || id.index >= module.instructions().size()) return {};
    std::string text;
    hlo::PrintText(module, id, hlo::TextFormat::kElided, text);
    constexpr size_t kMax = 2000;
    std::string_view cut = std::string_view(text).substr(0, 8 * kMax);
    return SafeText(folded ? FoldLine(cut, dump::FileKind::kHloText) : std::string(cut), kMax);
  }

  // The heat of a row: after the pass, else before it.
  std::string SentenceOf(const Line& line) const {
    std::string sentence;
    if (paint_[1] != nullptr) sentence = HeatSentence(*paint_[1], line.after);
    if (sentence.empty() && paint_[0] != nullptr) sentence = HeatSentence(*paint_[0], line.before);
    return sentence;
  }

  static void ShowWhole(const hlo::Module& before, const hlo::Module& after, const Line& line,
                        const std::string& more) {
    std::string text = TextOf(before, line.before, false);
    std::string later = TextOf(after, line.after, false);
    if (!text.empty() && !later.empty() && text != later) text += "\n\n" + later;
    if (text.empty()) text = later;
    if (!more.empty()) text += "\n\n" + more;
    if (!ImGui::BeginTooltip()) return;
    ImGui::PushTextWrapPos(ImGui::GetFontSize() * 50);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }

  // What a row shows; printing and comparing words in every frame would take too long.
  struct RowTexts {
    std::string left, right;
    std::deque<std::string> kept;  // stretches that were shortened
    WordDiff words;                // of all these
    bool is_one_side = false;
  };

  const RowTexts& TextsOf(const hlo::Module& before, const hlo::Module& after, int row) {
    std::unique_ptr<RowTexts>& known = texts_[row];
    if (known != nullptr) return *known;
    known = std::make_unique<RowTexts>();
    const Line& line = rows_[static_cast<size_t>(row)];
    const bool is_same = line.kind == analysis::ChangeKind::kUnchanged;
    const bool folded = is_same || !line.before.valid() || !line.after.valid();
    known->left = TextOf(before, line.before, folded);
    known->right = TextOf(after, line.after, folded);
    known->is_one_side = known->left.empty() || known->right.empty();
    if (is_same) {
      known->words = {{{known->left, false}}, {{known->right, false}}};
      return *known;
    }
    known->words = DiffWords(known->left, known->right);
    const bool differ = std::ranges::any_of(known->words.before, &WordPiece::changed) ||
                        std::ranges::any_of(known->words.after, &WordPiece::changed);
    if (!known->is_one_side && differ) {
      Shorten(known->words.before, known->kept);
      Shorten(known->words.after, known->kept);
    }
    return *known;
  }

  void DrawRow(Frame& frame, const Line& line, const RowTexts* texts, ImVec2 at, float width,
               float height, bool selected) const {
    ImDrawList* draw = ImGui::GetWindowDrawList();
    const Theme& theme = frame.theme;
    if (selected)
      draw->AddRectFilled(at, ImVec2(at.x + width, at.y + height), theme[Color::kSelected]);
    const bool is_hot = paint_[0] != nullptr || paint_[1] != nullptr;
    const float sign_width = (20 + (is_hot ? kStripe : 0)) * frame.scale;
    const float half = (width - sign_width) / 2;
    float y = at.y + (height - ImGui::GetTextLineHeight()) / 2;
    if (line.skipped > 0) {
      std::string text = fmt::format("{} unchanged", CountText(line.skipped));
      draw->AddText(ImVec2(at.x + sign_width, y), theme[Color::kTextDisabled], text.c_str());
      return;
    }
    const ChangeLook* look = LookOf(line.kind);
    const Color fill = look == nullptr ? Color::kCanvas : look->fill;
    if (look != nullptr)
      draw->AddText(ImVec2(at.x + 5 * frame.scale, y), theme[look->color], look->sign.data());
    DrawWords(frame, texts->words.before, ImVec2(at.x + sign_width, y), half, height,
              texts->is_one_side ? fill : Color::kRemovedFill, line.kind);
    DrawWords(frame, texts->words.after, ImVec2(at.x + sign_width + half, y), half, height,
              texts->is_one_side ? fill : Color::kAddedFill, line.kind);
    DrawHeat(frame, 0, line.before, ImVec2(at.x + sign_width, at.y), height);
    DrawHeat(frame, 1, line.after, ImVec2(at.x + sign_width + half, at.y), height);
    draw->AddLine(ImVec2(at.x + sign_width + half - 3, at.y),
                  ImVec2(at.x + sign_width + half - 3, at.y + height), theme[Color::kLine]);
  }

  // A stripe before the text of a side.
  void DrawHeat(Frame& frame, size_t side, hlo::InstructionId id, ImVec2 at, float height) const {
    const uint32_t fill = paint_[side] == nullptr ? 0 : HeatFill(frame.theme, *paint_[side], id);
    if (fill != 0)
      ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x - kStripe * frame.scale, at.y),
                                                ImVec2(at.x, at.y + height - 1), fill);
  }

  // Long stretches that both sides share are cut, so that what differs is in sight; the name stays.
  static void Shorten(std::vector<WordPiece>& pieces, std::deque<std::string>& kept) {
    constexpr size_t kLong = 56, kHead = 28, kTail = 16;
    for (WordPiece& piece : pieces) {
      if (piece.changed || piece.text.size() <= kLong) continue;
      std::string_view text = piece.text;
      size_t head = kHead, tail = text.size() - kTail;
      while (head > 0 && (static_cast<uint8_t>(text[head]) & 0xC0) == 0x80) --head;
      while (tail < text.size() && (static_cast<uint8_t>(text[tail]) & 0xC0) == 0x80) ++tail;
      kept.push_back(std::string(text.substr(0, head)) + " … " + std::string(text.substr(tail)));
      piece.text = kept.back();
    }
  }

  static void DrawWords(Frame& frame, const std::vector<WordPiece>& pieces, ImVec2 at, float width,
                        float height, Color fill, analysis::ChangeKind kind) {
    ImDrawList* draw = ImGui::GetWindowDrawList();
    draw->PushClipRect(ImVec2(at.x, at.y - 4),
                       ImVec2(at.x + width - 6 * frame.scale, at.y + height), true);
    Color quiet = kind == analysis::ChangeKind::kUnchanged || kind == analysis::ChangeKind::kRenamed
                      ? Color::kTextSecondary
                      : Color::kText;
    float x = at.x;
    for (const WordPiece& piece : pieces) {
      const char *begin = piece.text.data(), *end = begin + piece.text.size();
      float length = ImGui::CalcTextSize(begin, end).x;
      if (piece.changed) {
        draw->AddRectFilled(ImVec2(x, at.y - 2), ImVec2(x + length, at.y + height - 4),
                            frame.theme[fill]);
      }
      draw->AddText(ImVec2(x, at.y), frame.theme[quiet], begin, end);
      x += length;
      if (x > at.x + width) break;
    }
    draw->PopClipRect();
  }

  static constexpr float kStripe = 6;  // width, in logical pixels

  StagePair pair_;
  std::array<StageHeat, 2> heat_;                          // before and after
  std::array<std::shared_ptr<const HeatPaint>, 2> paint_;  // of this frame; null: off
  bool unchanged_ = false;
  int wanted_step_ = 0;
  std::vector<Line> rows_;
  std::unordered_map<int, std::unique_ptr<RowTexts>> texts_;  // by row, of those that were in sight
  std::string rows_key_;
  int64_t selected_row_ = -1;
  uint64_t revealed_ = 0;
};

}  // namespace

std::unique_ptr<View> MakeChangesView() { return std::make_unique<ChangesView>(); }

}  // namespace hloscope::viewer
