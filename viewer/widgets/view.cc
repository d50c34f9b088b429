#include "viewer/widgets/view.h"

namespace hloscope::viewer {
namespace {

constexpr ViewRow kViews[] = {
#define VIEW(make, id, title, places, help) {&make, id, title, places, help},
#include "viewer/widgets/views.def"
#undef VIEW
};
constexpr ScreenRow kScreens[] = {
#define SCREEN(id, title, help) {id, title, help},
#include "viewer/model/screens.def"
#undef SCREEN
};

}  // namespace

std::span<const ViewRow> ViewRows() { return kViews; }
std::span<const ScreenRow> ScreenRows() { return kScreens; }

Result<std::string> View::Export(ExportFormat format, Context& /*context*/) const {
  if (format == ExportFormat::kCsv)
    return UnsupportedError("this view shows no table", "export as PNG or SVG");
  return UnsupportedError("this view has no SVG of its own", "export its picture instead");
}

}  // namespace hloscope::viewer
