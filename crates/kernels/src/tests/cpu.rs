use crate::cpu::{Cpu, Feature, UnknownFeature};

#[test]
fn a_mask_hides_features_and_those_that_build_on_them() {
    let cpu = Cpu::detect();
    assert_eq!(cpu.masked(""), Ok(cpu));
    assert_eq!(cpu.masked(" , "), Ok(cpu));
    assert_eq!(cpu.masked("-aes"), Ok(Cpu::PORTABLE));
    assert_eq!(cpu.masked("-avx512, -vaes"), Ok(cpu.without(Feature::Vaes)));
    for (i, feature) in Feature::ALL.into_iter().enumerate() {
        let masked = cpu.masked(&format!("-{}", feature.name())).unwrap();
        assert_eq!(masked, cpu.without(feature));
        for (k, other) in Feature::ALL.into_iter().enumerate() {
            assert_eq!(masked.has(other), k < i && cpu.has(other));
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
        assert!(text.contains(&format!("{word:?}")) && text.ends_with("-aes -vaes -avx512 -face"));
    }
}

#[test]
fn backends_are_listed_best_first_and_end_with_the_portable_one() {
    let names = |cpu: Cpu| cpu.aes_backends().map(|b| b.name()).collect::<Vec<_>>();
    let all = ["vaes-512", "vaes-256", "aes-ni", "portable"];
    let features = [Feature::Avx512, Feature::Vaes, Feature::Aes];
    for hidden in [
        None,
        Some(Feature::Avx512),
        Some(Feature::Vaes),
        Some(Feature::Aes),
    ] {
        let cpu = hidden.map_or(Cpu::detect(), |feature| Cpu::detect().without(feature));
        let expected: Vec<_> = (features.into_iter().map(|feature| cpu.has(feature)))
            .chain([true])
            .zip(all)
            .filter_map(|(has, name)| has.then_some(name))
            .collect();
        assert_eq!(names(cpu), expected);
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
