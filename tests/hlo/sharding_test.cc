// Shardings and device lists: reading, XLA's canonical forms, printing.
#include "core/hlo/sharding.h"

#include <gtest/gtest.h>

#include <string>

#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

std::string Reprint(std::string_view text) {
  TextCursor cursor(text);
  Parsed<Sharding> sharding = ReadSharding(cursor, {});
  if (!sharding) return "error: " + sharding.error().message;
  if (!cursor.AtEnd()) return "error: trailing text";
  std::string out;
  AppendSharding(out, *sharding);
  return out;
}

std::string ReprintList(std::string_view text) {
  TextCursor cursor(text);
  Parsed<DeviceList> list = ReadDeviceList(cursor, {});
  if (!list) return "error: " + list.error().message;
  if (!cursor.AtEnd()) return "error: trailing text";
  std::string out;
  AppendDeviceList(out, *list);
  return out;
}

struct Case {
  const char* text;
  const char* printed;
};

// All expectations here are what XLA prints for the text.
TEST(ShardingText, TilesComeOutInCanonicalForm) {
  const Case cases[] = {
      {"{device=3 maximal}", "{maximal device=3}"},
      {"{maximal devices=[1]3}", "{maximal device=3}"},
      {"{manual replicated}", "{replicated}"},
      {"{devices=[2, 2]0, 1, 3, 2}", "{devices=[2,2]0,1,3,2}"},
      {"{devices=[2,2]<=[2,2]T(0,1)}", "{devices=[2,2]<=[4]}"},
      {"{devices=[4,2]<=[2,2,2]T(1,2,0)}", "{devices=[4,2]<=[2,4]T(1,0)}"},
      {"{devices=[24]<=[2,1,3,1,4]T(4,3,2,1,0)}", "{devices=[24]<=[2,3,4]T(2,1,0)}"},
      {"{devices=[1,1]<=[1,1]T(1,0)}", "{devices=[1,1]<=[1]}"},
      {"{devices=[2,2,1]<=[4] last_tile_dim_replicate}", "{devices=[2,2]<=[4]}"},
      {"{devices=[1,1,4]<=[4] last_tile_dim_replicate}", "{replicated}"},
      {"{devices=[2,1,2]<=[4] last_tile_dims={replicated}}",
       "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
      {"{devices=[2,1,4]3,1,2,0,7,5,6,4 last_tile_dim_replicate}",
       "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"},
      {"{devices=[3,1,4]<=[2,6]T(1,0) last_tile_dim_replicate}",
       "{devices=[3,1,4]<=[2,3,2]T(1,0,2) last_tile_dim_replicate}"},
      {"{devices=[1,1,2,2]<=[4] last_tile_dims={manual,manual}}", "{manual}"},
      {"{devices=[1,1,2,2]<=[4] last_tile_dims={replicated,manual}}",
       "{devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"},
      {"{devices=[1,2,1,2]<=[4] last_tile_dims={unreduced,replicated}}",
       "{devices=[1,2,2]<=[4] last_tile_dim_replicate}"},
      {"{devices=[1,2,2,2]7,6,5,4,3,2,1,0 last_tile_dims={replicated,manual,replicated}}",
       "{devices=[1,2,4]2,3,6,7,0,1,4,5 last_tile_dims={manual, replicated}}"},
      {"{devices=[2,2,4,2]<=[2,2,2,2,2]T(4,0,3,1,2) last_tile_dims={replicated,manual}}",
       "{devices=[2,2,2,4]<=[2,2,2,2,2]T(4,0,2,1,3) last_tile_dims={manual, replicated}}"},
      {"{devices=[2,3,4,2]<=[4,12]T(1,0) last_tile_dims={unreduced,manual}}",
       "{devices=[2,3,2,4]<=[2,2,6,2]T(2,1,3,0) last_tile_dims={manual, unreduced}}"},
      {"{shard_as 7 devices=[2,2]<=[4] metadata={op_name=\"n\" op_type='t' source_line=0}}",
       "{devices=[2,2]<=[4] shard_as 7 metadata={op_type=\"t\" op_name=\"n\"}}"},
      {"{replicated metadata={op_name=\"a\"} metadata={op_name=\"b\"}}",
       "{replicated metadata={{op_name=\"a\"}, {op_name=\"b\"}}}"},
      {"{}", "{}"},
      {"{{replicated},{manual},{unknown},{unreduced},{maximal device=0},{replicated}}",
       "{{replicated}, {manual}, {unknown}, {unreduced}, {maximal device=0}, "
       "/*index=5*/{replicated}}"},
  };
  for (const Case& c : cases) EXPECT_EQ(Reprint(c.text), c.printed) << c.text;
}

TEST(ShardingText, NamedMeshes) {
  const Case cases[] = {
      {"{mesh[\"x\"=4, \"y\"=2] [{\"y\", \"x\", ?},{?}]}",
       "{mesh['x'=4,'y'=2], [{'y', 'x', ?}, {?}]}"},
      {"{mesh['x'=4,'y'=2], []}", "{mesh['x'=4,'y'=2], replicated}"},
      {"{mesh['x'=4,'y'=2], [], manual={'x','y'}}", "{mesh['x'=4,'y'=2], manual}"},
      {"{mesh['x'=4,'y'=2], unreduced}", "{mesh['x'=4,'y'=2], unreduced}"},
      {"{mesh[], [{}, {}]}", "{mesh[], [{}, {}]}"},
      {"{maximal_mesh[device_id=3]}", "{maximal_mesh[device_id=3]}"},
      {"{mesh['x'=4,'y'=2], device_ids=([2,2,2]T(2,0,1)), [{'x':(2)2}]}",
       "{mesh['x'=4,'y'=2], device_ids=([4,2]T(1,0)), [{'x':(2)2}]}"},
      {"{mesh['x'=4], device_ids=(3,2,1,0), [{'x'}]}",
       "{mesh['x'=4], device_ids=(3,2,1,0), [{'x'}]}"},
      {"{mesh['x'=4,'y'=2,'z'=2], [{'x'}], manual={'y'}, replicated={'z'}}",
       "{mesh['x'=4,'y'=2,'z'=2], [{'x'}], replicated={'z'}, manual={'y'}}"},
      {"{mesh['x'=4], [], unreduced=max{'x'}}", "{mesh['x'=4], [], unreduced=max{'x'}}"},
      {"{mesh['x'=4], replicated, metadata={op_name=\"a\"}}",
       "{mesh['x'=4], replicated, metadata={{op_name=\"a\"}}}"},
  };
  for (const Case& c : cases) EXPECT_EQ(Reprint(c.text), c.printed) << c.text;
}

TEST(ShardingText, RefusesWithReasons) {
  const Case cases[] = {
      {"{maximal}", "maximal sharding has no device"},
      {"{replicated device=3}", "sharding has devices, but its kind takes none"},
      {"{devices=[1,1]0}", "sharding has 1 device, expected more than one"},
      {"{devices=[4,2]0,1,2}", "sharding lists 3 devices for 8 tiles"},
      {"{devices=[4,2]<=[9]}", "iota has 9 devices, expected 8"},
      {"{devices=[2,2]<=[2,2]T(0,0)}",
       "transpose of the iota is not a permutation of its 2 dimensions"},
      {"{devices=[4294967296,4294967296]<=[8]}", "tile dimensions are negative or too large"},
      {"{devices=[2,2]<=[4] last_tile_dims={manual,manual,manual}}",
       "last_tile_dims has 3 entries for 2 tile dimensions"},
      {"{mesh['x'=4], [{'z'}]}", "mesh has no axis 'z'"},
      {"{mesh['x'=4], [{'x'},{'x'}]}", "axis 'x' is used twice"},
      {"{mesh['x'=8], [{'x':(1)4},{'x':(2)4}]}", "axis 'x' is used twice"},
      {"{mesh['x'=4], [{'x':(3)2}]}", "part (3)2 does not divide axis 'x' of size 4"},
      {"{mesh['x'=4], [{'x':(1)2,'x':(2)2}]}", "part of an axis continues the part before it"},
      {"{mesh['x'=4,'y'=2], [], manual={'y','x'}}",
       "axes of the list are not in the order of the mesh"},
      {"{mesh['x'=4,'x'=2], []}", "mesh has two axes with the same name"},
      {"{mesh['x'=4], device_ids=(0,1,2,3), []}",
       "device ids of the mesh are in the default order"},
      {"{mesh['x'=4], device_ids=(0,1), []}", "mesh lists 2 devices, but its axes have 4"},
      {"{{{replicated}}}",
       "expected replicated, manual, maximal, unknown, unreduced, devices=, metadata= or }, found "
       "`{replicated}}}`"},
  };
  for (const Case& c : cases) EXPECT_EQ(Reprint(c.text), std::string("error: ") + c.printed);
}

TEST(ShardingText, LargeIotasStaySymbolic) {
  EXPECT_EQ(Reprint("{devices=[131072,131072]<=[17179869184]}"),
            "{devices=[131072,131072]<=[17179869184]}");
  EXPECT_EQ(Reprint("{devices=[131072,2,65536]<=[17179869184] last_tile_dims={manual,replicated}}"),
            "{devices=[131072,2,65536]<=[17179869184] last_tile_dims={manual, replicated}}");
  EXPECT_EQ(Reprint("{devices=[131072,2,65536]<=[17179869184] last_tile_dims={replicated,manual}}"),
            "{devices=[131072,65536,2]<=[131072,2,65536]T(0,2,1) last_tile_dims={manual, "
            "replicated}}");
}

TEST(DeviceListText, EveryForm) {
  const Case cases[] = {
      {"{}", "{}"},
      {"{{}}", "{{}}"},
      {"{ {0 , 1}, {2} }", "{{0,1},{2}}"},
      {"[2,4]<=[8]", "[2,4]<=[8]"},
      {"[2,4]<=[2,2,2]T(1,2,0)", "[2,4]<=[2,4]T(1,0)"},
      {"mesh[\"x\"=4,\"y\"=2], {\"x\",\"y\"}", "mesh['x'=4,'y'=2] {'x','y'}"},
      {"mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x':(1)2}",
       "mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x':(1)2}"},
      {"[2,4]<=[9]", "error: iota has 9 devices, expected 8"},
      {"[8]<=[8]", "error: replica groups have 1 sizes, expected 2: groups and devices of each"},
      {"[2,4]", "error: expected <=[ of an iota, found the end of the text"},
      {"{0,1}", "error: expected { of a group such as {0,1}, found `0,1}`"},
      {"mesh['x'=4] {}",
       "error: replica groups of the mesh have one device, expected more than one"},
  };
  for (const Case& c : cases) EXPECT_EQ(ReprintList(c.text), c.printed) << c.text;
}

}  // namespace
}  // namespace hloscope::hlo
