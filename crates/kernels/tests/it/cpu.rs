use oarlock_kernels::cpu::{Cpu, Feature, UnknownFeature};

#[test]
fn a_mask_hides_features_and_those_that_build_on_them() {
    let cpu = Cpu::detect();
    assert_eq!(cpu.masked(""), Ok(cpu));
    assert_eq!(cpu.masked(" , "), Ok(cpu));
    assert_eq!(cpu.masked("-ssse3"), Ok(Cpu::PORTABLE));
    assert_eq!(cpu.masked("-avx512, -avx2"), Ok(cpu.without(Feature::Avx2)));
    for (feature, dependents) in [
        (Feature::Ssse3, &Feature::ALL[..]),
        (Feature::Aes, &[Feature::Vaes, Feature::Face]),
        (
            Feature::Avx2,
            &[
                Feature::Vaes,
                Feature::Avx512,
                Feature::Gfni,
                Feature::Face,
                Feature::Ifma,
                Feature::Fma,
                Feature::Vbmi,
            ],
        ),
        (Feature::Vaes, &[Feature::Face]),
        (
            Feature::Avx512,
            &[Feature::Face, Feature::Ifma, Feature::Vbmi],
        ),
        (Feature::Gfni, &[]),
        (Feature::Face, &[]),
        (Feature::Ifma, &[]),
        (Feature::Fma, &[]),
        (Feature::Vbmi, &[]),
        (Feature::Sha, &[]),
        (Feature::Apart, &[]),
    ] {
        let masked = cpu.masked(&format!("-{}", feature.name())).unwrap();
        assert_eq!(masked, cpu.without(feature));
        for other in Feature::ALL {
            let is_hidden = other == feature || dependents.contains(&other);
            assert_eq!(masked.has(other), !is_hidden && cpu.has(other));
        }
    }
}

#[test]
fn a_mask_with_an_unknown_word_names_it() {
    for (mask, word) in [
        ("aes", "aes"),
        ("-sse9", "-sse9"),
        ("-aes,-", "-"),
        ("-vaes, -AES ,-x", "-AES"),
        ("--aes", "--aes"),
    ] {
        let error = Cpu::detect().masked(mask).unwrap_err();
        assert_eq!(error, UnknownFeature(word));
        let text = error.to_string();
        assert!(
            text.contains(&format!("{word:?}"))
                && text.ends_with(
                    "-ssse3 -aes -avx2 -vaes -avx512 -gfni -face -ifma -fma -vbmi -sha -apart"
                )
        );
    }
}

#[test]
fn backends_are_listed_best_first_and_end_with_the_portable_one() {
    let names = |cpu: Cpu| cpu.aes_backends().map(|b| b.name()).collect::<Vec<_>>();
    for (mask, expected) in [
        (
            "-gfni,-face",
            &["vaes-512", "vaes-256", "aes-ni", "portable"][..],
        ),
        ("-avx512", &["vaes-256", "aes-ni", "portable"]),
        ("-avx2", &["aes-ni", "portable"]),
        ("-aes", &["portable"]),
        ("-aes,-gfni", &["portable"]),
        ("-aes,-avx2", &["portable"]),
    ] {
        let cpu = Cpu::detect();
        let is_there = |name: &&str| match *name {
            "vaes-512" => cpu.has(Feature::Vaes) && cpu.has(Feature::Avx512),
            "vaes-256" => cpu.has(Feature::Vaes),
            "aes-ni" => cpu.has(Feature::Aes),
            _ => true,
        };
        let expected: Vec<_> = expected.iter().copied().filter(is_there).collect();
        assert_eq!(names(cpu.masked(mask).unwrap()), expected, "{mask}");
    }
    assert_eq!(names(Cpu::PORTABLE), ["portable"]);
}

#[test]
fn debug_output_lists_the_features() {
    assert_eq!(format!("{:?}", Cpu::PORTABLE), "{}");
    let debug = format!("{:?}", Cpu::detect());
    for feature in Feature::ALL {
        assert_eq!(debug.contains(feature.name()), Cpu::detect().has(feature));
    }
}

#[test]
fn the_family_is_what_the_kernel_says() {
    let Some(family) = Cpu::family() else {
        return oarlock_testing::skip("only x86-64 tells its family");
    };
    assert!(family.vendor.is_ascii(), "{family:?}");
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let said = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.split(':').next().map(str::trim) == Some(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    for (name, ours) in [
        (
            "vendor_id",
            str::from_utf8(&family.vendor).unwrap().to_owned(),
        ),
        ("cpu family", family.family.to_string()),
        ("model", family.model.to_string()),
    ] {
        if let Some(said) = said(name) {
            assert_eq!(said, ours, "{name}");
        }
    }
}
