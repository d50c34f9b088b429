// Surface: where frames go: a window, or nowhere (window/rasterizer.h makes pictures of them), by
// one code path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hloscope::viewer {

enum class SurfaceKind : uint8_t {
  kWindow,    // a window of the desktop
  kHidden,    // the same, never shown: whether OpenGL starts
  kHeadless,  // no display, no OpenGL: for pictures and tests
};

struct SurfaceOptions {
  SurfaceKind kind = SurfaceKind::kWindow;
  int width = 1600, height = 1000;  // pixels
  float scale = 0;                  // pixels for each logical pixel; 0: what the display says
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
  // To so many pixels, where there is no display; on one its user does.
  virtual void Resize(int /*width*/, int /*height*/) {}

 private:
  std::vector<std::string> dropped_;
};

}  // namespace hloscope::viewer
