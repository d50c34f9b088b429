// View: one panel of the window. A view is a row in views.def and one file, in viewer/graph/,
// viewer/timeline/, viewer/views/ or viewer/divergence/.
//
// A view draws from the context in every frame and keeps no copy of what it shows; what takes
// longer than a millisecond it gets from TaskCache::Get and shows a sentence meanwhile. Clicking
// something calls Navigation::Select; views highlight what navigation.counterparts() lists. Colours
// come from frame.theme, sizes are multiplied by frame.scale, untrusted text goes through
// SafeText.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "viewer/commands/commands.h"
#include "viewer/model/context.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/theme.h"

struct ImFont;

namespace hloscope::viewer {

// What a view gets in every frame.
struct Frame {
  Context& context;
  const Theme& theme;
  float scale = 1;           // pixels for each logical pixel
  bool focused = false;      // keys go to this view
  bool visible = true;       // false: its tab is hidden; Draw is not called then
  ImFont* font = nullptr;    // Inter; the current one
  ImFont* strong = nullptr;  // Inter SemiBold
  ImFont* mono = nullptr;    // JetBrains Mono: code and numbers
  double seconds = 0;        // since the window opened; the same in every run without a display
};

enum class ExportFormat : uint8_t { kPng, kSvg, kCsv };

class View {
 public:
  virtual ~View() = default;

  // The content of the panel; the ImGui window around it is there already.
  virtual void Draw(Frame& frame) = 0;

  // True while there is nothing to show: an area at the side is hidden where that holds for all its
  // views.
  virtual bool IsEmpty(const Context& /*context*/) const { return false; }

  // True while one sentence is all there is to show: a panel of the centre is no higher than that,
  // and higher otherwise. nullopt: its height is the user's alone.
  virtual std::optional<bool> IsStrip(const Context& /*context*/) const { return std::nullopt; }

  // A command of commands.def that names this view, or kCopy, kFind, kFit and the like, while the
  // view has the focus; true if it was one for it.
  virtual bool Run(Command /*command*/, Frame& /*frame*/) { return false; }

  // The view's own state (filter, colouring, what is shown) as a short text, for undo and for the
  // next start; SetState takes what State once gave, or ignores what it cannot read.
  virtual std::string State() const { return {}; }
  virtual void SetState(std::string_view /*state*/) {}
  // What undo takes back beyond that: cameras, and what is unfolded of the dump in view. What
  // belongs to something that is not in view any more is ignored.
  virtual std::string Arrangement() const { return {}; }
  virtual void SetArrangement(std::string_view /*arrangement*/) {}

  // The content as kCsv or kSvg. The default fails with a sentence: PNG and SVG of any view are
  // made from its picture, CSV only by those that show a table.
  virtual Result<std::string> Export(ExportFormat format, Context& context) const;

  // What this view shows as selected or highlighted, one item a line, as the user reads it: for
  // tests and for people who cannot see colours.
  virtual std::string HighlightedItems(Context& /*context*/) const { return {}; }
};

// A row of views.def.
struct ViewRow {
  std::unique_ptr<View> (*make)();
  std::string_view id, title;
  std::string_view places;  // "home:centre graph:right": screens and where on them
  std::string_view help;    // a sentence, shown by F1
};
std::span<const ViewRow> ViewRows();

#define VIEW(make, id, title, places, help) std::unique_ptr<View> make();
#include "viewer/widgets/views.def"
#undef VIEW

// A row of screens.def.
struct ScreenRow {
  std::string_view id, title, help;
};
std::span<const ScreenRow> ScreenRows();

}  // namespace hloscope::viewer
