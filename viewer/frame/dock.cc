// Dock spaces, one for each screen, and the windows in them.
#include "viewer/frame/dock.h"

#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

#include <algorithm>
#include <optional>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

std::string WindowName(const ViewRow& row, std::string_view screen) {
  return std::string(row.title) + "###" + std::string(screen) + "." + std::string(row.id);
}

// Tabs that come back are made one after another, and each new one would be in front.
constexpr int kFramesOfTabs = 3;

// The shares of a screen's width for the areas at its sides: graphs need all there is, modules are
// names, passes have figures too. `width` in logical pixels.
float LeftShare(std::string_view screen) { return screen == "passes" ? 0.26f : 0.17f; }
float RightShare(std::string_view screen, float width) {
  constexpr float kMinRight = 200;  // in which facts are still read
  return screen == "graph" ? std::max(0.17f, kMinRight / std::max(width, 1.0f)) : 0.25f;
}
constexpr float kAboveShare = 0.22f;  // of the height of the right

// In a window less wide, in logical pixels, the graphs get the room at their side.
constexpr float kFoldsBelow = 1200;
constexpr std::string_view kFoldedScreen = "graph";

bool IsAtSide(std::string_view area) { return area == "right" || area == "above"; }

}  // namespace

std::string_view AreaOn(const ViewRow& row, std::string_view screen) {
  std::string_view rest = row.places;
  while (!rest.empty()) {
    size_t end = std::min(rest.find(' '), rest.size());
    std::string_view place = rest.substr(0, end);
    size_t colon = place.find(':');
    if (colon != std::string_view::npos && place.substr(0, colon) == screen)
      return place.substr(colon + 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

Dock::Dock() {
  for (const ViewRow& row : ViewRows()) panels_.push_back({.row = &row, .view = row.make()});
}

Dock::Panel* Dock::Find(std::string_view view_id) {
  auto found = std::ranges::find_if(panels_, [&](const Panel& p) { return p.row->id == view_id; });
  return found == panels_.end() ? nullptr : &*found;
}

void Dock::SetScreen(std::string_view id) {
  auto known = std::ranges::find(ScreenRows(), id, &ScreenRow::id);
  if (known == ScreenRows().end()) return;
  is_chosen_ = true;
  if (screen_ == id) return;
  screen_ = id;
  // The keys go where they went when this screen was left, at first to its middle.
  std::string& last = last_focus_[screen_];
  if (last.empty()) last = CentreView();
  wanted_focus_ = last;
}

// The first of the centre of this screen; empty: this build has none.
std::string_view Dock::CentreView() const {
  const auto centre = std::ranges::find_if(
      panels_, [&](const Panel& panel) { return AreaOn(*panel.row, screen_) == "centre"; });
  return centre == panels_.end() ? std::string_view() : centre->row->id;
}

// The one of them that is seen: of tabs the one in front.
std::string_view Dock::SeenCentreView() const {
  const auto seen = std::ranges::find_if(panels_, [&](const Panel& panel) {
    return panel.width > 0 && AreaOn(*panel.row, screen_) == "centre";
  });
  return seen == panels_.end() ? CentreView() : std::string_view(seen->row->id);
}

void Dock::Focus(std::string_view view_id) {
  Panel* panel = Find(view_id);
  if (panel == nullptr) return;
  if (AreaOn(*panel->row, screen_).empty()) {
    for (const ScreenRow& screen : ScreenRows()) {
      if (AreaOn(*panel->row, screen.id).empty()) continue;
      SetScreen(screen.id);
      break;
    }
  }
  wanted_focus_ = view_id;
}

std::string Dock::acting_view() const {
  if (!focused_view_.empty()) return focused_view_;
  auto last = last_focus_.find(screen_);
  if (last == last_focus_.end()) return {};
  // Another tab may be before it by now.
  auto panel = std::ranges::find(panels_, last->second, [](const Panel& p) { return p.row->id; });
  return panel != panels_.end() && panel->width > 0 ? last->second : std::string();
}

std::string Dock::ViewAt(float x, float y) const {
  const auto found = std::ranges::find_if(panels_, [&](const Panel& p) {
    return p.width > 0 && x >= p.x && y >= p.y && x < p.x + p.width && y < p.y + p.height;
  });
  return found == panels_.end() ? std::string() : std::string(found->row->id);
}

void Dock::FocusNext() {
  std::vector<std::string_view> here;
  for (const Panel& panel : panels_) {
    if (!AreaOn(*panel.row, screen_).empty()) here.push_back(panel.row->id);
  }
  if (here.empty()) return;
  auto now = std::ranges::find(here, focused_view_);
  wanted_focus_ = now == here.end() || now + 1 == here.end() ? here.front() : *(now + 1);
  passes_by_ = true;
}

// What is asked for comes out of the fold; what the keys only pass by goes back when they leave it.
void Dock::Unfold() {
  const Panel* asked = Find(wanted_focus_);
  if (!is_narrow_ || asked == nullptr) return;
  const bool is_at_side = IsAtSide(AreaOn(*asked->row, screen_));
  if (is_at_side && !is_unfolded_) is_unfolded_ = folds_again_ = true;
  if (is_at_side ? !passes_by_ : folds_again_) {
    is_unfolded_ = is_at_side;
    folds_again_ = false;
  }
}

void Dock::BuildLayout(unsigned dock, float width, float height, float scale) {
  ImGui::DockBuilderRemoveNode(dock);
  ImGui::DockBuilderAddNode(dock, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(dock, ImVec2(width, height));
  auto has = [&](std::string_view area) {
    return std::ranges::any_of(
        panels_, [&](const Panel& panel) { return AreaOn(*panel.row, screen_) == area; });
  };
  ImGuiID centre = dock, left = 0, right = 0, above = 0, bottom = 0, middle = 0;
  if (has("left"))
    ImGui::DockBuilderSplitNode(centre, ImGuiDir_Left, LeftShare(screen_), &left, &centre);
  if (has("right"))
    ImGui::DockBuilderSplitNode(centre, ImGuiDir_Right, RightShare(screen_, width / scale), &right,
                                &centre);
  if (has("above")) ImGui::DockBuilderSplitNode(right, ImGuiDir_Up, kAboveShare, &above, &right);
  if (has("bottom")) ImGui::DockBuilderSplitNode(centre, ImGuiDir_Down, 0.36f, &bottom, &centre);
  if (has("middle")) ImGui::DockBuilderSplitNode(centre, ImGuiDir_Down, 0.5f, &middle, &centre);
  for (const Panel& panel : panels_) {
    std::string_view area = AreaOn(*panel.row, screen_);
    if (area.empty()) continue;
    ImGuiID node = area == "left"     ? left
                   : area == "middle" ? middle
                   : area == "right"  ? right
                   : area == "above"  ? above
                   : area == "bottom" ? bottom
                                      : centre;
    ImGui::DockBuilderDockWindow(WindowName(*panel.row, screen_).c_str(), node);
  }
  ImGui::DockBuilderFinish(dock);
}

void Dock::Draw(Frame& frame, float top, float bottom) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImVec2 size(viewport->WorkSize.x, viewport->WorkSize.y - top - bottom);
  ImGui::SetNextWindowPos(ImVec2(viewport->WorkPos.x, viewport->WorkPos.y + top));
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("##ground", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNavFocus |
                   ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(2);
  for (Panel& panel : panels_) SizeStrip(frame, panel);
  for (const ScreenRow& screen : ScreenRows()) {
    ImGuiID dock = ImGui::GetID(std::string(screen.id).c_str());
    bool shown = screen.id == screen_;
    if (shown) {
      // Screens not shown yet have a node too, kept alive below: empty, while a saved one is
      // divided.
      const ImGuiDockNode* node = ImGui::DockBuilderGetNode(dock);
      bool saved = node != nullptr && (node->IsSplitNode() || node->Windows.Size > 0);
      if (wants_reset_ || (!saved && !built_.contains(screen_)))
        BuildLayout(dock, size.x, size.y, frame.scale);
      wants_reset_ = false;
      built_.insert(screen_);
    } else if (ImGui::DockBuilderGetNode(dock) == nullptr) {
      // Keeping a space alive would make it, empty, and it would pass for one that was saved.
      continue;
    }
    ImGui::DockSpace(dock, size,
                     (shown ? 0 : ImGuiDockNodeFlags_KeepAliveOnly) |
                         static_cast<int>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                         static_cast<int>(ImGuiDockNodeFlags_NoCloseButton));
  }
  if (CentreView().empty()) {
    // Below the panels: the area that no view of this build fills.
    const char* text = "this build has no view for this screen";
    ImVec2 at(viewport->WorkPos.x + size.x * 0.36f, viewport->WorkPos.y + top + size.y * 0.3f);
    ImGui::GetForegroundDrawList()->AddText(at, frame.theme[Color::kTextSecondary], text);
  }
  ImGui::End();
  is_narrow_ = screen_ == kFoldedScreen && viewport->WorkSize.x < kFoldsBelow * frame.scale;
  Unfold();
  passes_by_ = false;
  std::vector<Panel*> shown;
  const std::string_view centre = SeenCentreView();
  for (Panel& panel : panels_) {
    panel.width = panel.height = 0;
    if (AreaOn(*panel.row, screen_).empty()) continue;
    const bool hidden = IsHidden(frame, panel);
    if (!hidden) shown.push_back(&panel);
    if (!hidden && panel.was_hidden) BringToFront(panel);
    // The keys do not stay with what was folded.
    if (hidden && !panel.was_hidden && IsFolded() && wanted_focus_.empty() &&
        last_focus_[screen_] == panel.row->id)
      wanted_focus_ = centre;
    panel.was_hidden = hidden;
  }
  focused_view_.clear();
  for (Panel* panel : shown) DrawPanel(frame, *panel);
  front_frames_ = std::max(front_frames_ - 1, 0);
  if (front_frames_ == 0) wanted_front_.clear();
  DrawFold(frame, top);
}

// Of an area that comes back: the tab that is asked for, else its first.
void Dock::BringToFront(const Panel& panel) {
  const std::string_view area = AreaOn(*panel.row, screen_);
  const auto is_beside = [&](const std::string& id) {
    const Panel* other = Find(id);
    return other != nullptr && AreaOn(*other->row, screen_) == area;
  };
  if (std::ranges::any_of(wanted_front_, is_beside)) return;
  wanted_front_.emplace_back(is_beside(wanted_focus_) ? wanted_focus_ : panel.row->id);
  front_frames_ = kFramesOfTabs;
}

// At the right end of the row of tabs: what is folded there by name, or what folds it again.
void Dock::DrawFold(Frame& frame, float top) {
  if (!is_narrow_) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({viewport->WorkPos.x + viewport->WorkSize.x, viewport->WorkPos.y + top},
                          ImGuiCond_Always, {1, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  ImGui::Begin("##side", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoFocusOnAppearing |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(3);
  std::string names;
  for (const Panel& panel : panels_) {
    const std::string_view area = AreaOn(*panel.row, screen_);
    if (!IsAtSide(area) || !HasContent(frame, area)) continue;
    names += (names.empty() ? "" : ", ") + std::string(panel.row->title);
    if (is_unfolded_) continue;
    ImGui::SameLine(0, 0);
    const std::string label = std::string(panel.row->title) + "##side";
    if (QuietButton(frame.theme, label.c_str(), false)) Focus(panel.row->id);
    Help(std::string(panel.row->help) + "\nshown next to the graphs");
  }
  if (is_unfolded_ && !names.empty()) {
    if (QuietButton(frame.theme, ">##side", false)) {
      is_unfolded_ = false;
      wanted_focus_ = SeenCentreView();
    }
    Help("fold " + names + ": more room for the graphs");
  }
  ImGui::End();
}

// A panel of the centre that has one sentence to show is as high as that; its room goes to the
// panel below it, until it has more.
void Dock::SizeStrip(const Frame& frame, Panel& panel) const {
  if (AreaOn(*panel.row, screen_) != "centre") return;
  const std::optional<bool> is_strip = panel.view->IsStrip(frame.context);
  if (!is_strip) return;
  const ImGuiWindow* window = ImGui::FindWindowByName(WindowName(*panel.row, screen_).c_str());
  ImGuiDockNode* node = window == nullptr ? nullptr : window->DockNode;
  if (node == nullptr || node->Windows.Size != 1 || node->ParentNode == nullptr ||
      node->ParentNode->SplitAxis != ImGuiAxis_Y)
    return;
  constexpr float kLines = 2, kDefaultShare = 0.5F, kLeast = 1.5F;
  const ImGuiDockNode& parent = *node->ParentNode;
  if (parent.Size.y <= 0) return;
  ImGuiDockNode& other = *parent.ChildNodes[parent.ChildNodes[0] == node ? 1 : 0];
  const float strip = ImGui::GetFrameHeight() + 2 * ImGui::GetStyle().WindowPadding.y +
                      kLines * ImGui::GetTextLineHeightWithSpacing();
  const auto resize = [&](float to) {
    node->Size.y = node->SizeRef.y = to;
    other.SizeRef.y = std::max(parent.Size.y - to, 1.0F);
    node->WantLockSizeOnce = true;
  };
  const bool is_low = node->SizeRef.y <= kLeast * strip;
  if (*is_strip) {
    if (!is_low) panel.share = node->SizeRef.y / parent.Size.y;
    resize(strip);
  } else if (is_low && panel.was_strip != false) {
    // As high as before; the layout of the last time may have it as a strip. Later the user may
    // have it that low.
    resize((panel.share > 0 ? panel.share : kDefaultShare) * parent.Size.y);
  }
  panel.was_strip = is_strip;
}

// One of its views has something to show, or is requested.
bool Dock::HasContent(const Frame& frame, std::string_view area) const {
  return std::ranges::any_of(panels_, [&](const Panel& panel) {
    return AreaOn(*panel.row, screen_) == area &&
           (!panel.view->IsEmpty(frame.context) || panel.row->id == wanted_focus_ ||
            panel.row->id == focused_view_);
  });
}

// An area at the right gives its room to the others while it is folded or none of its views has
// something to show.
bool Dock::IsHidden(const Frame& frame, const Panel& panel) const {
  const std::string_view area = AreaOn(*panel.row, screen_);
  if (!IsAtSide(area)) return false;
  // Windows that are made later than the others would be in front of them whenever a popup closes.
  if (ImGui::FindWindowByName(WindowName(*panel.row, screen_).c_str()) == nullptr) return false;
  return IsFolded() || !HasContent(frame, area);
}

void Dock::DrawPanel(Frame& frame, Panel& panel) {
  std::string name = WindowName(*panel.row, screen_);
  if (wanted_focus_ == panel.row->id) {
    ImGui::SetNextWindowFocus();
    wanted_focus_.clear();
  }
  const bool drawn = ImGui::Begin(
      name.c_str(), nullptr, ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoFocusOnAppearing);
  // The last item is its tab here.
  Help(panel.row->help);
  // In front of the others of an area that comes back, without taking the keys.
  if (std::ranges::find(wanted_front_, panel.row->id) != wanted_front_.end()) {
    const ImGuiWindow* window = ImGui::GetCurrentWindow();
    if (window->DockNode != nullptr) {
      window->DockNode->SelectedTabId = window->TabId;
      if (window->DockNode->TabBar != nullptr)
        window->DockNode->TabBar->NextSelectedTabId = window->TabId;
    }
  }
  if (drawn) {
    frame.focused = ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows);
    if (frame.focused) focused_view_ = last_focus_[screen_] = panel.row->id;
    ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    panel.x = at.x;
    panel.y = at.y;
    panel.width = size.x;
    panel.height = size.y;
    panel.view->Draw(frame);
  }
  ImGui::End();
  frame.focused = false;
}

}  // namespace hloscope::viewer
