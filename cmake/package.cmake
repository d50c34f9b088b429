# Components of `cmake --install` (program, viewer, fonts, dev, docs), and Debian packages of them by CPack; scripts/deb makes them.
install(FILES ${CMAKE_SOURCE_DIR}/assets/desktop/hloscope.desktop DESTINATION share/applications COMPONENT viewer)
install(FILES ${CMAKE_SOURCE_DIR}/assets/desktop/hloscope.xml DESTINATION share/mime/packages COMPONENT viewer)
install(FILES ${CMAKE_SOURCE_DIR}/assets/desktop/hloscope.svg DESTINATION share/icons/hicolor/scalable/apps COMPONENT viewer)
install(FILES ${CMAKE_SOURCE_DIR}/assets/desktop/hloscope.png DESTINATION share/icons/hicolor/256x256/apps COMPONENT viewer)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/hloscope/docs COMPONENT docs FILES_MATCHING PATTERN *.md)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/hloscope COMPONENT docs)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hloscope)
set(CPACK_PACKAGE_CONTACT "hloscope maintainers <maintainers@hloscope.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "open, replay, compare and debug what the XLA compiler dumps")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
# Fonts are packages of Debian's.
set(CPACK_COMPONENTS_ALL program viewer dev docs)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_files.cmake)
set(CPACK_HLOSCOPE_COPYRIGHT ${CMAKE_BINARY_DIR}/package/copyright)
set(CPACK_HLOSCOPE_CHANGELOG ${CMAKE_BINARY_DIR}/package/changelog)

set(version "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME hloscope)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3 (>= 3.9)")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "hloscope-viewer, hloscope-dev, hloscope-doc")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "replays and debugs what the XLA compiler dumps
 hloscope opens the dumps of the XLA compiler (JAX, TensorFlow, PyTorch/XLA),
 runs their modules again, finds the pass or instruction at which two runs
 diverge, and packs what it found as a bug report.")
set(CPACK_DEBIAN_VIEWER_PACKAGE_NAME hloscope-viewer)
# 2.36: the relative relocations, which dpkg-shlibdeps does not see in it.
set(CPACK_DEBIAN_VIEWER_PACKAGE_DEPENDS "hloscope ${version}, libc6 (>= 2.36), fonts-inter, fonts-jetbrains-mono")
set(CPACK_DEBIAN_VIEWER_PACKAGE_RECOMMENDS "libegl1, libgl1, libgl1-mesa-dri, libopengl0, libx11-6, libxcursor1, libxi6, libxinerama1, libxrandr2")
set(CPACK_COMPONENT_VIEWER_DESCRIPTION "window of hloscope
 Shows dumps, graphs, timelines and memory of the XLA compiler in a window, and
 takes pictures of them without a display.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME hloscope-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "hloscope ${version}")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DEV_DESCRIPTION "runtime of objects that hloscope compiles
 The archive that programs link with objects of `hloscope compile --emit
 object`, and the package that CMake finds.")
set(CPACK_DEBIAN_DOCS_PACKAGE_NAME hloscope-doc)
set(CPACK_DEBIAN_DOCS_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOCS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DOCS_DESCRIPTION "documentation of hloscope
 The pages on commands, file formats and figures.")
include(CPack)
