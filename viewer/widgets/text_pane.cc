// Lines in sight only: drawing costs the same for a line and for a million.
#include "viewer/widgets/text_pane.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// Of a longer line the rest is counted, not drawn.
constexpr size_t kMaxBytes = 32 << 10;
constexpr size_t kMaxKept = 2000;
constexpr float kMonoSize = 15;

// Of one character, exactly: CalcTextSize rounds up to whole pixels.
float AdvanceOfMono() {
  constexpr const char* kMany = "0000000000000000000000000000000000000000000000000000000000000000";
  return ImGui::CalcTextSize(kMany).x / 64;
}

}  // namespace

void TextPane::Show(std::shared_ptr<const TextDocument> document) {
  if (document == document_) return;
  document_ = std::move(document);
  shown_.clear();
  top_ = caret_ = 0;
  left_ = 0;
  highlighted_.clear();
}

void TextPane::SetFolded(bool folded) {
  if (folded != folded_) shown_.clear();
  folded_ = folded;
}

void TextPane::Reveal(int64_t line) {
  if (line < 0) return;
  if (line < top_ || line >= top_ + rows_ - 1) top_ = std::max<int64_t>(0, line - rows_ / 3);
}

void TextPane::GoTo(int64_t line) {
  if (document_ == nullptr) return;
  caret_ = std::clamp<int64_t>(line, 0, document_->lines() - 1);
  Reveal(caret_);
}

const TextPane::Shown& TextPane::ShownLine(int64_t number) {
  auto known = shown_.find(number);
  if (known != shown_.end()) return known->second;
  if (shown_.size() > kMaxKept) shown_.clear();
  Shown out;
  std::string_view whole = document_->Line(number);
  std::string_view line = whole.substr(0, kMaxBytes);
  std::string folded;
  if (folded_) {
    folded = FoldLine(line, document_->kind());
    line = folded;
  }
  for (const Piece& piece : ColorLine(line, document_->kind())) {
    size_t begin = out.text.size();
    for (char c : EscapeForTerminal(piece.text, LineBreaks::kKeep)) {
      // Tab stops are every eighth column.
      if (c != '\t') {
        out.text += c;
        out.ascii = out.ascii && static_cast<uint8_t>(c) < 0x80;
      } else {
        out.text.append(8 - out.text.size() % 8, ' ');
      }
    }
    out.spans.push_back({begin, out.text.size(), piece.color});
  }
  if (whole.size() > kMaxBytes) {
    size_t begin = out.text.size();
    out.text += fmt::format("  … {} more bytes", whole.size() - kMaxBytes);
    out.ascii = false;
    out.spans.push_back({begin, out.text.size(), Color::kWarning});
  }
  return shown_.emplace(number, std::move(out)).first->second;
}

void TextPane::HandleKeys(int64_t rows) {
  if (!ImGui::IsWindowFocused() || ImGui::GetIO().WantTextInput) return;
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyCtrl || io.KeyAlt) return;
  auto move = [&](int64_t by) {
    caret_ = std::clamp<int64_t>(caret_ + by, 0, document_->lines() - 1);
    if (caret_ < top_) top_ = caret_;
    if (caret_ >= top_ + rows - 1) top_ = caret_ - rows + 2;
  };
  if (ImGui::IsKeyPressed(ImGuiKey_PageDown)) move(rows - 1);
  if (ImGui::IsKeyPressed(ImGuiKey_PageUp)) move(1 - rows);
  if (ImGui::IsKeyPressed(ImGuiKey_End)) move(document_->lines());
  if (ImGui::IsKeyPressed(ImGuiKey_Home)) move(-document_->lines());
  if (!own_arrows_) return;
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) move(1);
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) move(-1);
  float advance = 8;
  if (ImGui::IsKeyPressed(ImGuiKey_RightArrow)) left_ += advance;
  if (ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) left_ = std::max(0.0f, left_ - advance);
}

float TextPane::Gutter() const {
  const size_t digits = std::max<size_t>(4, std::to_string(document_->lines()).size());
  return static_cast<float>(digits + 2) * AdvanceOfMono();
}

// Of the word under the pointer; x and y are the corner of the first line.
std::string TextPane::HoveredWords(float x, float y, float height) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const int64_t number = top_ + static_cast<int64_t>((mouse.y - y) / height);
  const float column = (mouse.x - x - Gutter()) / AdvanceOfMono() + left_;
  if (mouse.x < x + Gutter() && heat_.text && number < document_->lines())
    return heat_.text(number);
  if (!words_ || column < left_ || number >= document_->lines()) return {};
  const Shown& line = ShownLine(number);
  // Other letters have other widths.
  return line.ascii ? words_(line.text, static_cast<size_t>(column)) : std::string();
}

int64_t TextPane::Draw(Frame& frame) {
  if (document_ == nullptr) return -1;
  ImGui::PushFont(frame.mono, kMonoSize);
  int64_t clicked = -1;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.theme[Color::kCanvas]);
  ImGui::BeginChild("##pane", ImVec2(0, 0), ImGuiChildFlags_None,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  float height = std::floor(ImGui::GetTextLineHeight() * 1.22f), bar = 12 * frame.scale;
  rows_ = std::max<int64_t>(1, static_cast<int64_t>(room.y / height));
  ImGui::InvisibleButton("##lines", ImVec2(std::max(1.0f, room.x - bar), std::max(1.0f, room.y)));
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsItemHovered() && io.MouseWheel != 0) {
    wheel_ += io.KeyShift ? 0 : -io.MouseWheel * 3;
    if (io.KeyShift) left_ = std::max(0.0f, left_ - io.MouseWheel * 8);
  }
  if (ImGui::IsItemHovered() && io.MouseWheelH != 0)
    left_ = std::max(0.0f, left_ - io.MouseWheelH * 8);
  auto steps = static_cast<int64_t>(std::trunc(wheel_));
  wheel_ -= static_cast<float>(steps);
  const std::string words = ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)
                                ? HoveredWords(at.x, at.y, height)
                                : std::string();
  if (ImGui::IsItemClicked()) {
    auto row = static_cast<int64_t>((io.MousePos.y - at.y) / height);
    if (top_ + row < document_->lines()) clicked = caret_ = top_ + row;
  }
  HandleKeys(rows_);
  if (ImGui::IsWindowFocused() && ImGui::IsKeyPressed(ImGuiKey_Enter, false)) clicked = caret_;
  top_ = std::clamp<int64_t>(top_ + steps, 0, std::max<int64_t>(0, document_->lines() - rows_ + 1));
  ImGui::PushClipRect(at, ImVec2(at.x + room.x - bar, at.y + room.y), true);
  for (int64_t row = 0; row <= rows_ && top_ + row < document_->lines(); ++row)
    DrawLine(frame, top_ + row, at.x, at.y + static_cast<float>(row) * height, room.x - bar);
  ImGui::PopClipRect();
  DrawScrollbar(frame, at.x + room.x - bar, at.y, room.y, rows_);
  ImGui::EndChild();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (!words.empty()) ImGui::SetTooltip("%s", words.c_str());
  return clicked;
}

void TextPane::DrawLine(Frame& frame, int64_t number, float x, float y, float width) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  float advance = AdvanceOfMono(), height = std::floor(ImGui::GetTextLineHeight() * 1.22f);
  // A few lines stand out; a whole function lies in a quieter light, so that it stays legible.
  constexpr size_t kFewLines = 12;
  if (highlighted_.contains(number))
    draw->AddRectFilled(
        ImVec2(x, y), ImVec2(x + width, y + height),
        frame.theme[highlighted_.size() > kFewLines ? Color::kHighlighted : Color::kSelected]);
  DrawNumber(frame, number, x, y, height);
  const float gutter = Gutter();
  float text_y = y + (height - ImGui::GetTextLineHeight()) / 2;
  const Shown& line = ShownLine(number);
  float start = x + gutter - left_ * advance;
  draw->PushClipRect(ImVec2(x + gutter - 2, y), ImVec2(x + width, y + height), true);
  if (!marked_.empty()) {
    for (size_t found = FindInLine(line.text, marked_, 0); found != std::string::npos;
         found = FindInLine(line.text, marked_, found + 1)) {
      float begin = start + ImGui::CalcTextSize(line.text.data(), line.text.data() + found).x;
      float length =
          ImGui::CalcTextSize(line.text.data() + found, line.text.data() + found + marked_.size())
              .x;
      draw->AddRectFilled(ImVec2(begin, y), ImVec2(begin + length, y + height),
                          frame.theme[Color::kMatch]);
    }
  }
  float pen = start;
  for (const Span& span : line.spans) {
    const char *begin = line.text.data() + span.begin, *end = line.text.data() + span.end;
    float length = line.ascii ? static_cast<float>(span.end - span.begin) * advance
                              : ImGui::CalcTextSize(begin, end).x;
    if (pen + length > x && pen < x + width) {
      // What lies left and right of the panel is not even given to the draw list.
      auto skip = line.ascii ? static_cast<ptrdiff_t>(std::max(0.0f, (x - pen) / advance)) : 0;
      auto keep = static_cast<ptrdiff_t>((x + width - pen) / advance) + 1;
      const char* stop = line.ascii ? begin + std::min(end - begin, keep) : end;
      draw->AddText(ImVec2(pen + static_cast<float>(skip) * advance, text_y),
                    frame.theme[span.color], begin + skip, stop);
    }
    pen += length;
    if (pen > x + width) break;
  }
  constexpr float kNoteColumn = 44;
  if (notes_) {
    DrawNotes(frame, number, std::max(pen + 2 * advance, start + kNoteColumn * advance), text_y,
              x + width);
  }
  draw->PopClipRect();
}

// On its heat, where there is any.
void TextPane::DrawNumber(Frame& frame, int64_t number, float x, float y, float height) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float advance = AdvanceOfMono(), gutter = Gutter(), mark = 3 * frame.scale;
  const uint32_t fill = heat_.fill ? heat_.fill(number) : 0;
  if (fill != 0)
    draw->AddRectFilled(ImVec2(x + mark, y), ImVec2(x + gutter - advance * 0.8f, y + height), fill);
  if (number == caret_)
    draw->AddRectFilled(ImVec2(x, y), ImVec2(x + mark, y + height), frame.theme[Color::kAccent]);
  const std::string label = std::to_string(number + 1);
  const float left = gutter - advance * (1.2f + static_cast<float>(label.size()));
  draw->AddText(ImVec2(x + left, y + (height - ImGui::GetTextLineHeight()) / 2),
                fill != 0 ? InkOn(frame.theme, fill) : frame.theme[Color::kTextDisabled],
                label.c_str());
}

void TextPane::DrawNotes(Frame& frame, int64_t number, float x, float y, float right) {
  for (const TextNote& note : notes_(number)) {
    if (x > right) return;
    const std::string text = EscapeForTerminal(note.text);
    ImGui::GetWindowDrawList()->AddText(ImVec2(x, y), frame.theme[note.color], text.c_str());
    x += ImGui::CalcTextSize(text.c_str()).x + 2 * AdvanceOfMono();
  }
}

void TextPane::DrawScrollbar(Frame& frame, float x, float y, float height, int64_t rows) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  ImGui::SetCursorScreenPos(ImVec2(x, y));
  ImGui::InvisibleButton("##scroll", ImVec2(12 * frame.scale, std::max(1.0f, height)));
  auto lines = static_cast<double>(std::max<int64_t>(1, document_->lines()));
  double size = std::clamp(static_cast<double>(rows) / lines, 0.03, 1.0);
  double last = std::max(1.0, lines - static_cast<double>(rows) + 1);
  double room = static_cast<double>(height) * (1 - size);
  if (ImGui::IsItemActive() && room > 0) {
    double part = (static_cast<double>(ImGui::GetIO().MousePos.y - y) -
                   static_cast<double>(height) * size / 2) /
                  room;
    top_ = static_cast<int64_t>(std::clamp(part, 0.0, 1.0) * last);
  }
  auto top = static_cast<float>(room * std::min(1.0, static_cast<double>(top_) / last));
  auto length = static_cast<float>(static_cast<double>(height) * size);
  Color color =
      ImGui::IsItemActive() || ImGui::IsItemHovered() ? Color::kTextDisabled : Color::kLine;
  draw->AddRectFilled(ImVec2(x + 2 * frame.scale, y + top),
                      ImVec2(x + 10 * frame.scale, y + top + length), frame.theme[color],
                      4 * frame.scale);
  // Where there is light, so that it can be found in a long text.
  for (int64_t line : highlighted_) {
    auto mark = static_cast<float>(static_cast<double>(height) * static_cast<double>(line) / lines);
    draw->AddRectFilled(ImVec2(x, y + mark),
                        ImVec2(x + 12 * frame.scale, y + mark + 2 * frame.scale),
                        frame.theme[Color::kAccent]);
  }
}

}  // namespace hloscope::viewer
