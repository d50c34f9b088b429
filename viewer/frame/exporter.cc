// Asking for a path, waiting for a frame, writing.
#include "viewer/frame/exporter.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/file.h"
#include "viewer/frame/svg.h"
#include "viewer/window/rasterizer.h"

namespace hloscope::viewer {
namespace {

constexpr int kFirstFrame = 2;  // without the popup

}  // namespace

void Exporter::Ask(ExportFormat format) {
  const std::string id = ViewFor(format);
  const Dock::Panel* panel = dock_.Find(id);
  if (panel == nullptr)
    return session_.messages.Post(Severity::kNote,
                                  "click the panel to export first, or point at it");
  if (format == ExportFormat::kCsv) {
    if (Result<std::string> text = panel->view->Export(format, session_); !text)
      return session_.messages.Post(
          Severity::kError, fmt::format("{}: {}", panel->row->title, text.error().ToString()));
  }
  const char* ending = format == ExportFormat::kPng   ? "png"
                       : format == ExportFormat::kSvg ? "svg"
                                                      : "csv";
  view_ = id;
  format_ = format;
  path_.clear();
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  popups_.ShowExport(fmt::format("Export {} as {}", panel->row->title, ending),
                     (here / fmt::format("hloscope-{}.{}", id, ending)).string());
}

// The panel with the keys, or the one under the pointer where that one has none: a table is what
// has a CSV.
std::string Exporter::ViewFor(ExportFormat format) const {
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  std::string first;
  for (std::string& id : std::array{dock_.acting_view(), dock_.ViewAt(pointer.x, pointer.y)}) {
    const Dock::Panel* panel = dock_.Find(id);
    if (panel == nullptr) continue;
    if (format != ExportFormat::kCsv || panel->view->Export(format, session_)) return id;
    if (first.empty()) first = id;
  }
  return first;
}

void Exporter::Write(const std::string& path) {
  path_ = path;
  frames_ = 0;
}

Result<std::string> Exporter::Bytes(const Dock::Panel& panel) {
  if (format_ == ExportFormat::kPng) {
    const Picture picture =
        DrawPicture(*ImGui::GetDrawData(), appearance_.theme().Rgb(Color::kCanvas));
    const auto whole = [](float value) { return static_cast<int>(value); };
    return ToPng(
        picture.Cut(whole(panel.x), whole(panel.y), whole(panel.width), whole(panel.height)));
  }
  Result<std::string> bytes = panel.view->Export(format_, session_);
  if (bytes || format_ != ExportFormat::kSvg) return bytes;
  return SvgOfFrame(panel.x, panel.y, panel.width, panel.height,
                    appearance_.theme().Rgb(Color::kPanel));
}

void Exporter::Finish() {
  if (path_.empty() || ++frames_ <= kFirstFrame) return;
  const Dock::Panel* panel = dock_.Find(view_);
  Result<std::string> bytes =
      panel == nullptr || panel->width <= 0
          ? InputError(view_ + " is no longer visible", "show it and export again")
          : Bytes(*panel);
  const std::string path = std::exchange(path_, {});
  const Status written =
      bytes ? WriteFileAtomically(path, *bytes) : Status(std::unexpected(bytes.error()));
  session_.messages.Post(written ? Severity::kNote : Severity::kError,
                         written ? "saved " + path : "not saved: " + written.error().ToString());
}

}  // namespace hloscope::viewer
