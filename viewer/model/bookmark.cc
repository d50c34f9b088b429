// Titles of bookmarks, and those of files that knew positions only.
#include "viewer/model/bookmark.h"

#include "viewer/model/counterparts.h"

namespace hloscope::viewer {
namespace {

// What kept positions mean in this dump; fails where that is not what the title says.
Result<Anchor> AnchorOfPosition(const dump::DumpModel& dump, const Bookmark& bookmark) {
  Selection at = bookmark.selection;
  if (at.kind == SelectionKind::kEvent) {  // a row of some profile
    if (!at.instruction.valid()) return InputError("no instruction");
    at = Selection::OfInstruction(at.module, at.stage, at.instruction);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Anchor anchor, AnchorOf(dump, at));
  std::shared_ptr<const hlo::Module> module;
  if (at.kind == SelectionKind::kInstruction || at.kind == SelectionKind::kComputation) {
    HLOSCOPE_ASSIGN_OR_RETURN(module, dump.Module(at.module, at.stage));
  }
  if (TitleOf(&dump, at, module.get()) != bookmark.title) return InputError("something else");
  return anchor;
}

}  // namespace

std::string TitleOf(const dump::DumpModel* dump, const Selection& selection,
                    const hlo::Module* module) {
  std::vector<Crumb> crumbs;
  if (dump != nullptr) crumbs = Breadcrumbs(*dump, selection, module);
  if (crumbs.empty()) return std::string(ToString(selection.kind));
  return crumbs.back().text + (crumbs.size() > 1 ? " in " + crumbs.front().text : "");
}

size_t NamePositions(const dump::DumpModel& dump, std::vector<Bookmark>& bookmarks) {
  size_t lost = 0;
  for (Bookmark& bookmark : bookmarks) {
    if (bookmark.is_named()) continue;
    const Result<Anchor> anchor = AnchorOfPosition(dump, bookmark);
    lost += anchor ? 0 : 1;
    bookmark.anchor = anchor.value_or(Anchor());
    bookmark.selection = {};
  }
  return lost;
}

}  // namespace hloscope::viewer
