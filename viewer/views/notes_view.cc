// Notes: bookmarks with the user's own words, kept with the session.
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include "viewer/model/bookmark.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class NotesView : public View {
 public:
  void Draw(Frame& frame) override {
    std::vector<Bookmark>& bookmarks = frame.context.bookmarks;
    if (bookmarks.empty()) {
      Sentence(frame, "no bookmarks: Ctrl+B bookmarks the selection with a note");
      return;
    }
    size_t removed = bookmarks.size();
    for (size_t i = 0; i < bookmarks.size(); ++i) {
      ImGui::PushID(static_cast<int>(i));
      const bool is_here = bookmarks[i].selection.kind != SelectionKind::kNothing;
      ImGui::PushStyleColor(ImGuiCol_Text,
                            frame.theme[is_here ? Color::kText : Color::kTextDisabled]);
      if (ImGui::Selectable(
              (SafeText(bookmarks[i].title, 60) + "##go").c_str(),
              is_here && bookmarks[i].selection == frame.context.navigation.selection(), 0,
              ImVec2(ImGui::GetContentRegionAvail().x - 70 * frame.scale, 0)) &&
          is_here)
        frame.context.navigation.Select(bookmarks[i].selection);
      ImGui::PopStyleColor();
      if (is_here) {
        WholeIfCut(bookmarks[i].title, SafeText(bookmarks[i].title, 60));
      } else {
        Help(bookmarks[i].title + "\nnot in this dump");
      }
      ImGui::SameLine();
      if (ImGui::SmallButton("Remove")) removed = i;
      Help("remove this bookmark and its note");
      ImGui::SetNextItemWidth(-1);
      ImGui::InputTextWithHint("##note", "note", &bookmarks[i].note);
      Help("note, saved with the session");
      ImGui::PopID();
    }
    if (removed < bookmarks.size())
      bookmarks.erase(bookmarks.begin() + static_cast<ptrdiff_t>(removed));
  }

  bool IsEmpty(const Context& context) const override { return context.bookmarks.empty(); }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv) return View::Export(format, context);
    std::string out = "title,note\n";
    for (const Bookmark& bookmark : context.bookmarks)
      out += CsvCell(bookmark.title) + "," + CsvCell(bookmark.note) + "\n";
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    for (const Bookmark& bookmark : context.bookmarks) {
      if (bookmark.selection.kind != SelectionKind::kNothing &&
          bookmark.selection == context.navigation.selection())
        return bookmark.title;
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<View> MakeNotesView() { return std::make_unique<NotesView>(); }

}  // namespace hloscope::viewer
