// What `info` says of a program that jax.export wrote.
#pragma once

#include <string>

#include "core/base/file.h"
#include "core/dump/readers/jax_export.h"

namespace hloscope::app {

std::string ExportText(const FileView& file, const dump::JaxExport& exported);
std::string ExportJson(const FileView& file, const dump::JaxExport& exported);

}  // namespace hloscope::app
