// Module images: a module as bytes, for another process of the same build. Everything is kept, ids
// and the order of instructions included, which neither the text nor the proto form does (texts
// have no proto ids and unknown fields; protos have no unknown attributes, refuse names that occur
// twice and come back in another order).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/base/byte_archive.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

std::string ModuleToImage(const Module& module);

// The module in an image. Large constants stay views of `bytes`, which `owner` keeps. Input error:
// the image is cut off, or an id in it leads nowhere. Never for files: nothing else is verified.
Result<std::shared_ptr<const Module>> ModuleFromImage(std::span<const std::byte> bytes,
                                                      std::shared_ptr<const void> owner);

// A shape on its own. Reading fails the archive where the shape could not be one.
void Archive(ByteWriter& out, const Shape& shape);
void Archive(ByteReader& in, Shape& shape);
// Likewise a value; its bytes, from a multiple of 16 on, come with it.
void Archive(ByteWriter& out, const Literal& literal);
void Archive(ByteReader& in, Literal& literal);

}  // namespace hloscope::hlo
