; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #0

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

; Function Attrs: nounwind
define ptx_kernel void @all_reduce_1_fusion_1(ptr noalias align 16 dereferenceable(2048) %arg0, ptr noalias align 16 dereferenceable(2048) %arg1, i32 %arg2, i32 %arg3, ptr align 16 %arg4, ptr align 16 %arg5) local_unnamed_addr #3 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg4 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg5 to ptr addrspace(1)
  %4 = addrspacecast ptr %arg1 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %5 = tail call range(i32 0, 128) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = shl nuw nsw i32 %5, 2
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %7
  %9 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %8) #0
  %10 = extractvalue { i32, i32, i32, i32 } %9, 0
  %11 = extractvalue { i32, i32, i32, i32 } %9, 1
  %12 = extractvalue { i32, i32, i32, i32 } %9, 2
  %13 = extractvalue { i32, i32, i32, i32 } %9, 3
  %14 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %15 = sext i32 %arg2 to i64
  %16 = getelementptr [8 x i8], ptr addrspace(1) %2, i64 %15
  %17 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %16) #0
  %18 = inttoptr i64 %17 to ptr addrspace(1)
  %19 = shl i32 %14, 2
  %20 = add i32 %arg2, %19
  %21 = sext i32 %20 to i64
  %22 = getelementptr [4 x i8], ptr addrspace(1) %18, i64 %21
  %23 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.volatile.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %22) #0
  %24 = add i32 %23, 1
  %25 = shl i32 %24, 9
  %26 = and i32 %25, 512
  %27 = zext nneg i32 %26 to i64
  %28 = getelementptr [8 x i8], ptr addrspace(1) %3, i64 %15
  %29 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %28) #0
  %30 = inttoptr i64 %29 to ptr addrspace(1)
  %31 = getelementptr [4 x i8], ptr addrspace(1) %30, i64 %27
  %32 = getelementptr [4 x i8], ptr addrspace(1) %31, i64 %7
  tail call void asm sideeffect "st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l"(i32 %10, i32 %11, i32 %12, i32 %13, ptr addrspace(1) %32) #0
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %33 = icmp samesign ult i32 %5, 4
  br i1 %33, label %34, label %.loopexit

34:                                               ; preds = %0
  %35 = zext nneg i32 %5 to i64
  %36 = getelementptr [8 x i8], ptr addrspace(1) %2, i64 %35
  %37 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %36) #0
  %38 = inttoptr i64 %37 to ptr addrspace(1)
  %39 = getelementptr [4 x i8], ptr addrspace(1) %38, i64 %21
  store atomic i32 %24, ptr addrspace(1) %39 release, align 4
  %40 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %16) #0
  %41 = inttoptr i64 %40 to ptr addrspace(1)
  %42 = sext i32 %19 to i64
  %43 = getelementptr [4 x i8], ptr addrspace(1) %41, i64 %42
  %44 = getelementptr [4 x i8], ptr addrspace(1) %43, i64 %35
  br label %45

45:                                               ; preds = %45, %34
  %46 = load atomic i32, ptr addrspace(1) %44 acquire, align 4
  %.not = icmp ult i32 %46, %24
  br i1 %.not, label %45, label %.loopexit

.loopexit:                                        ; preds = %45, %0
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %47 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %3) #0
  %48 = inttoptr i64 %47 to ptr addrspace(1)
  %49 = getelementptr [4 x i8], ptr addrspace(1) %48, i64 %27
  %50 = getelementptr [4 x i8], ptr addrspace(1) %49, i64 %7
  %51 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %50) #0
  %52 = extractvalue { i32, i32, i32, i32 } %51, 0
  %53 = extractvalue { i32, i32, i32, i32 } %51, 1
  %54 = extractvalue { i32, i32, i32, i32 } %51, 2
  %55 = extractvalue { i32, i32, i32, i32 } %51, 3
  %56 = bitcast i32 %52 to float
  %57 = bitcast i32 %53 to float
  %58 = bitcast i32 %54 to float
  %59 = bitcast i32 %55 to float
  %60 = getelementptr i8, ptr addrspace(1) %3, i64 8
  %61 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %60) #0
  %62 = inttoptr i64 %61 to ptr addrspace(1)
  %63 = getelementptr [4 x i8], ptr addrspace(1) %62, i64 %27
  %64 = getelementptr [4 x i8], ptr addrspace(1) %63, i64 %7
  %65 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %64) #0
  %66 = extractvalue { i32, i32, i32, i32 } %65, 0
  %67 = extractvalue { i32, i32, i32, i32 } %65, 1
  %68 = extractvalue { i32, i32, i32, i32 } %65, 2
  %69 = extractvalue { i32, i32, i32, i32 } %65, 3
  %70 = bitcast i32 %66 to float
  %71 = bitcast i32 %67 to float
  %72 = bitcast i32 %68 to float
  %73 = bitcast i32 %69 to float
  %74 = fadd float %56, %70
  %75 = fadd float %57, %71
  %76 = fadd float %58, %72
  %77 = fadd float %59, %73
  %78 = getelementptr i8, ptr addrspace(1) %3, i64 16
  %79 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %78) #0
  %80 = inttoptr i64 %79 to ptr addrspace(1)
  %81 = getelementptr [4 x i8], ptr addrspace(1) %80, i64 %27
  %82 = getelementptr [4 x i8], ptr addrspace(1) %81, i64 %7
  %83 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %82) #0
  %84 = extractvalue { i32, i32, i32, i32 } %83, 0
  %85 = extractvalue { i32, i32, i32, i32 } %83, 1
  %86 = extractvalue { i32, i32, i32, i32 } %83, 2
  %87 = extractvalue { i32, i32, i32, i32 } %83, 3
  %88 = bitcast i32 %84 to float
  %89 = bitcast i32 %85 to float
  %90 = bitcast i32 %86 to float
  %91 = bitcast i32 %87 to float
  %92 = fadd float %74, %88
  %93 = fadd float %75, %89
  %94 = fadd float %76, %90
  %95 = fadd float %77, %91
  %96 = getelementptr i8, ptr addrspace(1) %3, i64 24
  %97 = tail call i64 asm sideeffect "mov.u64 $0, 0x0;\0A\09ld.global.b64 { $0 }, [ $1 + 0 ];", "=l,l"(ptr addrspace(1) %96) #0
  %98 = inttoptr i64 %97 to ptr addrspace(1)
  %99 = getelementptr [4 x i8], ptr addrspace(1) %98, i64 %27
  %100 = getelementptr [4 x i8], ptr addrspace(1) %99, i64 %7
  %101 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %100) #0
  %102 = extractvalue { i32, i32, i32, i32 } %101, 0
  %103 = extractvalue { i32, i32, i32, i32 } %101, 1
  %104 = extractvalue { i32, i32, i32, i32 } %101, 2
  %105 = extractvalue { i32, i32, i32, i32 } %101, 3
  %106 = bitcast i32 %102 to float
  %107 = bitcast i32 %103 to float
  %108 = bitcast i32 %104 to float
  %109 = bitcast i32 %105 to float
  %110 = fadd float %92, %106
  %111 = fadd float %93, %107
  %112 = fadd float %94, %108
  %113 = fadd float %95, %109
  %114 = getelementptr [4 x i8], ptr addrspace(1) %4, i64 %7
  %115 = bitcast float %110 to i32
  %116 = bitcast float %111 to i32
  %117 = bitcast float %112 to i32
  %118 = bitcast float %113 to i32
  tail call void asm sideeffect "st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l"(i32 %115, i32 %116, i32 %117, i32 %118, ptr addrspace(1) %114) #0
  ret void
}

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind }
attributes #3 = { nounwind "nvvm.reqntid"="128,1,1" }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
