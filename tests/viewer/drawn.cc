// The functions that the linker puts in place of Dear ImGui's, and what they note.
#include "tests/viewer/drawn.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <unordered_map>

namespace hloscope::viewer {
namespace {

// What is noted of the frame that is being made, or was last.
struct Notes {
  int frame = -1;
  std::vector<DrawnText> texts;
  std::vector<DrawnArea> areas;
  std::vector<DrawnControl> controls;
  std::unordered_map<ImGuiID, Box> boxes;  // of items, before their labels are known
  ControlKind kind = ControlKind::kControl;
  bool elides = false;  // inside RenderTextEllipsis, which draws in pieces
};

Notes& NotesNow() {
  static Notes notes;
  if (notes.frame != ImGui::GetFrameCount()) {
    notes.frame = ImGui::GetFrameCount();
    notes.texts.clear();
    notes.areas.clear();
    notes.controls.clear();
    notes.boxes.clear();
  }
  return notes;
}

Box Shared(const Box& a, const Box& b) {
  return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
          std::min(a.bottom, b.bottom)};
}
bool IsEmpty(const Box& box) { return box.right <= box.left || box.bottom <= box.top; }
Box BoxOf(const ImVec4& v) { return {v.x, v.y, v.z, v.w}; }

bool IsTooltip(std::string_view window) { return window.starts_with("##Tooltip"); }

void NoteText(ImDrawList& list, ImFont* font, float size, ImVec2 at, std::string_view text,
              float wrap, const Box* finer, bool elided) {
  const ImGuiWindow* window =
      list._OwnerName == nullptr ? nullptr : ImGui::FindWindowByName(list._OwnerName);
  if (text.empty() || (window != nullptr && window->Hidden)) return;
  if (font == nullptr) font = ImGui::GetFont();
  if (size == 0) size = ImGui::GetFontSize();
  const ImVec2 extent =
      font->CalcTextSizeA(size, FLT_MAX, wrap, text.data(), text.data() + text.size());
  DrawnText note;
  note.window = list._OwnerName == nullptr ? "" : list._OwnerName;
  note.text = text;
  note.box = {at.x, at.y, at.x + extent.x, at.y + extent.y};
  note.size = size;
  note.elided = elided;
  note.seen = Shared(note.box, BoxOf(list._CmdHeader.ClipRect));
  if (finer != nullptr) note.seen = Shared(note.seen, *finer);
  if (IsEmpty(note.seen)) return;
  note.is_code = font->Sources.Size > 0 &&
                 std::string_view(font->Sources[0]->Name).find("Mono") != std::string_view::npos;
  note.scrolls = window != nullptr && window->ScrollMax.x > 0;
  NotesNow().texts.push_back(std::move(note));
}

std::string_view TextUntil(const char* begin, const char* end) {
  return end == nullptr ? std::string_view(begin) : std::string_view(begin, end);
}

// Says what the item is that is made meanwhile.
class Kind {
 public:
  explicit Kind(ControlKind kind) : before_(NotesNow().kind) { NotesNow().kind = kind; }
  ~Kind() { NotesNow().kind = before_; }
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;

 private:
  ControlKind before_;
};

}  // namespace

bool DrawnText::is_cut(float scale) const {
  if (elided) return true;
  // An ellipsis that the viewer put there follows a character at once; one in a title a blank, and
  // one of a path or of folded HLO, "/…/" and "{…}", is what the text says.
  constexpr std::string_view kEllipsis = "…";
  for (size_t at = text.find(kEllipsis); at != std::string::npos;
       at = text.find(kEllipsis, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const size_t end = at + kEllipsis.size();
    const char after = end < text.size() ? text[end] : ' ';
    const bool is_meant =
        before == ' ' || (before == '/' && after == '/') || (before == '{' && after == '}');
    if (!is_meant) return true;
  }
  if (scrolls) return false;
  return box.right - seen.right > 1.5f * scale || seen.left - box.left > 1.5f * scale;
}

std::vector<DrawnText> DrawnTexts() {
  std::vector<DrawnText> texts = NotesNow().texts;
  std::erase_if(texts, [](const DrawnText& text) { return IsTooltip(text.window); });
  return texts;
}

std::vector<DrawnArea> DrawnAreas() { return NotesNow().areas; }

std::vector<DrawnControl> DrawnControls() { return NotesNow().controls; }

void NoteControls() {
  ImGuiContextHook hook;
  hook.Type = ImGuiContextHookType_NewFramePost;
  hook.Callback = [](ImGuiContext* context, ImGuiContextHook*) {
    context->TestEngineHookItems = true;
  };
  ImGui::AddContextHook(ImGui::GetCurrentContext(), &hook);
}

std::string DrawnTooltip() {
  std::string lines;
  for (const DrawnText& text : NotesNow().texts) {
    if (IsTooltip(text.window)) lines += text.text + "\n";
  }
  return lines;
}

}  // namespace hloscope::viewer

// NOLINTBEGIN: names that the linker makes
using namespace hloscope::viewer;

#define WRAPPED(symbol) __asm__("__wrap_" symbol)
#define REAL(symbol) __asm__("__real_" symbol)

// Dear ImGui's member functions take the object as their first argument.
void RealAddText(ImDrawList*, ImFont*, float, const ImVec2&, ImU32, const char*, const char*, float,
                 const ImVec4*) REAL("_ZN10ImDrawList7AddTextEP6ImFontfRK6ImVec2jPKcS6_fPK6ImVec4");
void NotedAddText(ImDrawList*, ImFont*, float, const ImVec2&, ImU32, const char*, const char*,
                  float, const ImVec4*)
    WRAPPED("_ZN10ImDrawList7AddTextEP6ImFontfRK6ImVec2jPKcS6_fPK6ImVec4");
void NotedAddText(ImDrawList* list, ImFont* font, float size, const ImVec2& at, ImU32 color,
                  const char* begin, const char* end, float wrap, const ImVec4* clip) {
  if (!NotesNow().elides && (color >> 24) != 0) {
    const Box finer = clip == nullptr ? Box{} : BoxOf(*clip);
    NoteText(*list, font, size, at, TextUntil(begin, end), wrap, clip == nullptr ? nullptr : &finer,
             false);
  }
  RealAddText(list, font, size, at, color, begin, end, wrap, clip);
}

void RealAddTextShort(ImDrawList*, const ImVec2&, ImU32, const char*, const char*)
    REAL("_ZN10ImDrawList7AddTextERK6ImVec2jPKcS4_");
void NotedAddTextShort(ImDrawList*, const ImVec2&, ImU32, const char*, const char*)
    WRAPPED("_ZN10ImDrawList7AddTextERK6ImVec2jPKcS4_");
void NotedAddTextShort(ImDrawList* list, const ImVec2& at, ImU32 color, const char* begin,
                       const char* end) {
  if ((color >> 24) != 0) NoteText(*list, nullptr, 0, at, TextUntil(begin, end), 0, nullptr, false);
  RealAddTextShort(list, at, color, begin, end);
}

void RealRenderTextEllipsis(ImDrawList*, const ImVec2&, const ImVec2&, float, const char*,
                            const char*, const ImVec2*)
    REAL("_ZN5ImGui18RenderTextEllipsisEP10ImDrawListRK6ImVec2S4_fPKcS6_PS3_");
void NotedRenderTextEllipsis(ImDrawList*, const ImVec2&, const ImVec2&, float, const char*,
                             const char*, const ImVec2*)
    WRAPPED("_ZN5ImGui18RenderTextEllipsisEP10ImDrawListRK6ImVec2S4_fPKcS6_PS3_");
void NotedRenderTextEllipsis(ImDrawList* list, const ImVec2& least, const ImVec2& most, float right,
                             const char* begin, const char* end, const ImVec2* size) {
  if (end == nullptr) end = ImGui::FindRenderedTextEnd(begin);
  const Box finer{least.x, least.y, right, most.y};
  NoteText(*list, nullptr, 0, least, TextUntil(begin, end), 0, &finer,
           ImGui::CalcTextSize(begin, end).x > right - least.x);
  NotesNow().elides = true;
  RealRenderTextEllipsis(list, least, most, right, begin, end, size);
  NotesNow().elides = false;
}

void RealAddRectFilled(ImDrawList*, const ImVec2&, const ImVec2&, ImU32, float, int)
    REAL("_ZN10ImDrawList13AddRectFilledERK6ImVec2S2_jfi");
void NotedAddRectFilled(ImDrawList*, const ImVec2&, const ImVec2&, ImU32, float, int)
    WRAPPED("_ZN10ImDrawList13AddRectFilledERK6ImVec2S2_jfi");
void NotedAddRectFilled(ImDrawList* list, const ImVec2& a, const ImVec2& b, ImU32 color,
                        float rounding, int flags) {
  const Box seen = Shared({a.x, a.y, b.x, b.y}, BoxOf(list->_CmdHeader.ClipRect));
  if ((color >> 24) != 0 && !IsEmpty(seen))
    NotesNow().areas.push_back({list->_OwnerName == nullptr ? "" : list->_OwnerName, seen});
  RealAddRectFilled(list, a, b, color, rounding, flags);
}

bool RealSelectable(const char*, bool, int, const ImVec2&)
    REAL("_ZN5ImGui10SelectableEPKcbiRK6ImVec2");
bool NotedSelectable(const char*, bool, int, const ImVec2&)
    WRAPPED("_ZN5ImGui10SelectableEPKcbiRK6ImVec2");
bool NotedSelectable(const char* label, bool selected, int flags, const ImVec2& size) {
  const Kind kind(ControlKind::kRow);
  return RealSelectable(label, selected, flags, size);
}

bool RealInvisibleButton(const char*, const ImVec2&, int)
    REAL("_ZN5ImGui15InvisibleButtonEPKcRK6ImVec2i");
bool NotedInvisibleButton(const char*, const ImVec2&, int)
    WRAPPED("_ZN5ImGui15InvisibleButtonEPKcRK6ImVec2i");
bool NotedInvisibleButton(const char* label, const ImVec2& size, int flags) {
  const Kind kind(ControlKind::kCanvas);
  return RealInvisibleButton(label, size, flags);
}

void RealItemAdd(ImGuiContext*, ImGuiID, const ImRect&, const ImGuiLastItemData*)
    REAL("_Z27ImGuiTestEngineHook_ItemAddP12ImGuiContextjRK6ImRectPK17ImGuiLastItemData");
void NotedItemAdd(ImGuiContext*, ImGuiID, const ImRect&, const ImGuiLastItemData*)
    WRAPPED("_Z27ImGuiTestEngineHook_ItemAddP12ImGuiContextjRK6ImRectPK17ImGuiLastItemData");
void NotedItemAdd(ImGuiContext* context, ImGuiID id, const ImRect& box,
                  const ImGuiLastItemData* item) {
  NotesNow().boxes[id] = {box.Min.x, box.Min.y, box.Max.x, box.Max.y};
  RealItemAdd(context, id, box, item);
}

void RealItemInfo(ImGuiContext*, ImGuiID, const char*, ImGuiItemStatusFlags)
    REAL("_Z28ImGuiTestEngineHook_ItemInfoP12ImGuiContextjPKci");
void NotedItemInfo(ImGuiContext*, ImGuiID, const char*, ImGuiItemStatusFlags)
    WRAPPED("_Z28ImGuiTestEngineHook_ItemInfoP12ImGuiContextjPKci");
void NotedItemInfo(ImGuiContext* context, ImGuiID id, const char* label,
                   ImGuiItemStatusFlags flags) {
  Notes& notes = NotesNow();
  const ImGuiWindow* window = context->CurrentWindow;
  const auto box = notes.boxes.find(id);
  if (window != nullptr && !window->Hidden && label != nullptr && box != notes.boxes.end() &&
      id != window->ID) {
    const ImRect& clip = window->ClipRect;
    DrawnControl control{
        .window = window->Name,
        .label = label,
        .seen = Shared(box->second, {clip.Min.x, clip.Min.y, clip.Max.x, clip.Max.y}),
        .kind = (flags & ImGuiItemStatusFlags_Openable) != 0 ? ControlKind::kRow : notes.kind};
    if (!IsEmpty(control.seen)) notes.controls.push_back(std::move(control));
  }
  RealItemInfo(context, id, label, flags);
}
// NOLINTEND
