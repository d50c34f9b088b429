// Surface: where frames go. A window, a picture without any display, or nothing at all, by one code
// path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "viewer/widgets/picture.h"

namespace hloscope::viewer {

enum class SurfaceKind : uint8_t {
  kWindow,     // a window of the desktop
  kOffscreen,  // OpenGL of Mesa without a display: for pictures
  kHeadless,   // no OpenGL and no pixels: for tests
};

struct SurfaceOptions {
  SurfaceKind kind = SurfaceKind::kWindow;
  int width = 1600, height = 1000;  // pixels
  float scale = 0;                  // pixels for each logical pixel; 0: what the display says
};

/// Pixels of a frame, which are read back only where they were asked for.
class PixelRequest {
 public:
  bool is_open() const { return is_open_; }
  void Give(Picture picture) { picture_ = std::move(picture); }
  /// Those that were given since the last Take; none yet: an environment error, and the next frame
  /// is read back.
  Result<Picture> Take() {
    is_open_ = picture_.rgb.empty();
    if (is_open_)
      return EnvironmentError("no frame was read back yet", "ask again after the next one");
    return std::exchange(picture_, {});
  }

 private:
  bool is_open_ = false;
  Picture picture_;
};

// Owns the platform and renderer back ends of the current ImGui context.
class Surface {
 public:
  // Fails without a display or OpenGL 3.3; the error has the fix.
  static Result<std::unique_ptr<Surface>> Make(const SurfaceOptions& options);
  virtual ~Surface() = default;

  virtual void NewFrame() = 0;
  // Draws the frame that ImGui::Render made, and shows it.
  virtual void Show(uint32_t background_rgb) = 0;
  // Returns when there is input, after Wake(), or after `seconds` (negative: no such end).
  virtual void Wait(double seconds) = 0;
  // From any thread.
  virtual void Wake() = 0;
  virtual bool closed() const = 0;
  virtual float scale() const = 0;
  // It is not visible now: no frames are needed.
  virtual bool hidden() const { return false; }
  // Whether the keys go to it.
  virtual bool focused() const { return true; }
  // What was dropped on it since it was asked last; Drop is what the window system calls.
  void Drop(std::vector<std::string> paths) { dropped_ = std::move(paths); }
  std::vector<std::string> TakeDroppedPaths() { return std::exchange(dropped_, {}); }
  virtual void SetTitle(const std::string& /*title*/) {}
  // The window fills the display; nothing where there is none.
  virtual void Maximize() {}
  virtual bool is_maximized() const { return false; }
  // What Show() drew last. Fails without pixels; with an environment error where they are there
  // after the next frame.
  virtual Result<Picture> Pixels() = 0;

 private:
  std::vector<std::string> dropped_;
};

}  // namespace hloscope::viewer
