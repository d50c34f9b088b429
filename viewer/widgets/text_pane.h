// TextPane: the lines of a document that are in sight, with own scrolling by whole lines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "viewer/model/text_document.h"
#include "viewer/widgets/syntax.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// What is drawn after the end of a line.
struct TextNote {
  std::string text;
  Color color = Color::kTextSecondary;
};

// A float that scrolls by pixels is exact to a million lines only; whole lines have no such end.
class TextPane {
 public:
  void Show(std::shared_ptr<const TextDocument> document);
  const TextDocument* document() const { return document_.get(); }
  std::shared_ptr<const TextDocument> document_ptr() const { return document_; }

  // Draws into the room that is left; the line that was clicked, -1: none.
  int64_t Draw(Frame& frame);

  int64_t top() const { return top_; }
  int64_t caret() const { return caret_; }
  // Brings a line into sight, in the upper third unless it is in sight.
  void Reveal(int64_t line);
  void GoTo(int64_t line);
  void SetTop(int64_t line) { top_ = line; }
  bool folded() const { return folded_; }
  void SetFolded(bool folded);
  // Highlighted lines, and the words marked as hits.
  void SetHighlighted(std::set<int64_t> lines) { highlighted_ = std::move(lines); }
  void SetMarked(std::string text) { marked_ = std::move(text); }
  const std::set<int64_t>& highlighted() const { return highlighted_; }
  // Asked for each line in sight.
  using Notes = std::function<std::vector<TextNote>(int64_t line)>;
  void SetNotes(Notes notes) { notes_ = std::move(notes); }
  // Asked for the byte of a line that is under the pointer; what it says is a tooltip.
  using Words = std::function<std::string(std::string_view line, size_t at)>;
  void SetWords(Words words) { words_ = std::move(words); }
  // The colour behind the number of a line, 0: none; what it says under the pointer.
  struct Heat {
    std::function<uint32_t(int64_t line)> fill;
    std::function<std::string(int64_t line)> text;
  };
  void SetHeat(Heat heat) { heat_ = std::move(heat); }
  // False: the arrows belong to another widget.
  void SetArrows(bool own) { own_arrows_ = own; }

 private:
  struct Span {
    size_t begin = 0, end = 0;
    Color color = Color::kText;
  };
  struct Shown {  // a line as it is drawn
    std::string text;
    std::vector<Span> spans;
    bool ascii = true;
  };
  const Shown& ShownLine(int64_t number);
  float Gutter() const;  // of line numbers, in pixels
  std::string HoveredWords(float x, float y, float height);
  void DrawNumber(Frame& frame, int64_t number, float x, float y, float height);
  void HandleKeys(int64_t rows);
  void DrawLine(Frame& frame, int64_t number, float x, float y, float width);
  void DrawNotes(Frame& frame, int64_t number, float x, float y, float right);
  void DrawScrollbar(Frame& frame, float x, float y, float height, int64_t rows);

  std::shared_ptr<const TextDocument> document_;
  int64_t top_ = 0, caret_ = 0;
  int64_t rows_ = 1;
  float left_ = 0;  // columns scrolled away
  float wheel_ = 0;
  bool folded_ = true, dragging_ = false;
  std::set<int64_t> highlighted_;
  std::string marked_;
  Notes notes_;
  Words words_;
  Heat heat_;
  bool own_arrows_ = true;
  std::unordered_map<int64_t, Shown> shown_;
};

}  // namespace hloscope::viewer
