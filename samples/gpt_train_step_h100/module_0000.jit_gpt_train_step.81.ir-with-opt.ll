; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_multiply_fusion_118(ptr noalias nofree readonly align 256 captures(none) dereferenceable(2048) %0, ptr noalias nofree readonly align 256 captures(none) dereferenceable(32768) %1, ptr noalias nofree readonly align 256 captures(none) dereferenceable(16777216) %2, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(16777216) %3) local_unnamed_addr #0 {
  %5 = addrspacecast ptr %1 to ptr addrspace(1)
  %6 = addrspacecast ptr %0 to ptr addrspace(1)
  %7 = addrspacecast ptr %2 to ptr addrspace(1)
  %8 = addrspacecast ptr %3 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %9 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !2
  %10 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !3
  %11 = lshr i32 %9, 1
  %12 = zext nneg i32 %11 to i64
  %13 = getelementptr inbounds [4 x i8], ptr addrspace(1) %5, i64 %12
  %14 = load float, ptr addrspace(1) %13, align 4, !invariant.load !0
  %15 = shl nuw nsw i32 %10, 2
  %16 = shl nuw nsw i32 %9, 9
  %17 = or disjoint i32 %15, %16
  %18 = and i32 %16, 512
  %19 = or disjoint i32 %18, %15
  %20 = zext nneg i32 %19 to i64
  %21 = getelementptr inbounds [2 x i8], ptr addrspace(1) %6, i64 %20
  %22 = zext nneg i32 %17 to i64
  %23 = getelementptr inbounds [2 x i8], ptr addrspace(1) %7, i64 %22
  %24 = load <4 x bfloat>, ptr addrspace(1) %23, align 8, !invariant.load !0
  %25 = extractelement <4 x bfloat> %24, i64 0
  %26 = extractelement <4 x bfloat> %24, i64 1
  %27 = extractelement <4 x bfloat> %24, i64 2
  %28 = extractelement <4 x bfloat> %24, i64 3
  %29 = fpext bfloat %25 to float
  %30 = fmul float %14, %29
  %31 = fptrunc float %30 to bfloat
  %32 = load <4 x bfloat>, ptr addrspace(1) %21, align 8, !invariant.load !0
  %33 = extractelement <4 x bfloat> %32, i64 0
  %34 = extractelement <4 x bfloat> %32, i64 1
  %35 = extractelement <4 x bfloat> %32, i64 2
  %36 = extractelement <4 x bfloat> %32, i64 3
  %37 = fmul bfloat %33, %31
  %38 = fpext bfloat %26 to float
  %39 = fmul float %14, %38
  %40 = fptrunc float %39 to bfloat
  %41 = fmul bfloat %34, %40
  %42 = fpext bfloat %27 to float
  %43 = fmul float %14, %42
  %44 = fptrunc float %43 to bfloat
  %45 = fmul bfloat %35, %44
  %46 = fpext bfloat %28 to float
  %47 = fmul float %14, %46
  %48 = fptrunc float %47 to bfloat
  %49 = fmul bfloat %36, %48
  %50 = insertelement <4 x bfloat> poison, bfloat %37, i64 0
  %51 = insertelement <4 x bfloat> %50, bfloat %41, i64 1
  %52 = insertelement <4 x bfloat> %51, bfloat %45, i64 2
  %53 = insertelement <4 x bfloat> %52, bfloat %49, i64 3
  %54 = getelementptr inbounds [2 x i8], ptr addrspace(1) %8, i64 %22
  store <4 x bfloat> %53, ptr addrspace(1) %54, align 8
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 16384}
!3 = !{i32 0, i32 128}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
