// Exporter: panels as files.
#pragma once

#include <string>

#include "viewer/frame/appearance.h"
#include "viewer/frame/dock.h"
#include "viewer/frame/popups.h"
#include "viewer/session/session.h"

namespace hloscope::viewer {

/// The content of a panel as a file: its table, its drawing or its pixels.
class Exporter {
 public:
  Exporter(Session& session, Dock& dock, Popups& popups, const Appearance& appearance)
      : session_(session), dock_(dock), popups_(popups), appearance_(appearance) {}

  /// Asks for a path; what cannot be exported says so at once.
  void Ask(ExportFormat format);
  /// Writes what was asked for to that path, once a frame without the popup is drawn.
  void Write(const std::string& path);
  /// After each frame.
  void Finish();
  bool is_waiting() const { return !path_.empty(); }

 private:
  std::string ViewFor(ExportFormat format) const;
  Result<std::string> Bytes(const Dock::Panel& panel);

  Session& session_;
  Dock& dock_;
  Popups& popups_;
  const Appearance& appearance_;
  std::string view_, path_;  // no path: nothing is to be written
  ExportFormat format_ = ExportFormat::kCsv;
  int frames_ = 0;  // since Write
};

}  // namespace hloscope::viewer
